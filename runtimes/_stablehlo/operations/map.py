"""Map: a body over scalars applied to every element of its operands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes._stablehlo.operations.bodies import Pointwise, pointwise
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _map(site: Site) -> Kernel:
    return partial(_mapped, pointwise(site.regions[0]), len(site.operands))


def _mapped(apply: Pointwise, count: int, *values: Array) -> Array:
    (result,) = apply(values[:count], values[count:])
    return result


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.map": _map}
