"""CHLO constants: one that is written out, and one number in the shape of an operand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.dense import decoded
from topos.runtimes._stablehlo.operations.conversion import converted
from topos.runtimes._stablehlo.site import Builder, Constant, Site
from topos.runtimes._stablehlo.syntax import Dense
from topos.runtimes._stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS", "ELEMENTWISE"]

Array = npt.NDArray[Any]


def _constant(site: Site) -> Constant:
    value = site.attribute("value")
    if not isinstance(value, Dense):
        site.unsupported("of something other than dense<...> is not supported")
    return Constant(decoded(value))


def _constant_like(site: Site) -> Constant:
    (result,) = site.results
    value, dtype = site.attribute("value"), dtype_of(result)
    if type(value) not in (bool, int, float):
        site.unsupported(f"of {value} is not supported")
    if type(value) is int and dtype.kind not in "iub" and "int" not in dtype.name:
        # An integer in the place of a float is its bits, as infinities and NaN are written.
        scalar = np.array(value, f"u{dtype.itemsize}").view(dtype)
    elif type(value) is int:
        scalar = np.array(value, dtype)
    else:
        scalar = converted(np.array(value), dtype)
    return Constant(np.broadcast_to(scalar, extents(result)))


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {
    "chlo.constant": _constant,
    "chlo.constant_like": _constant_like,
}
