"""Map: a body over scalars applied to every element of its operands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.bodies import Pointwise, pointwise
from topos.runtimes.interpreter.program import Kernel

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _map(context: BuildContext) -> Kernel:
    return partial(_mapped, pointwise(context.regions[0]), len(context.operands))


def _mapped(apply: Pointwise, count: int, *values: Array) -> Array:
    (result,) = apply(values[:count], values[count:])
    return result


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.map": _map}
