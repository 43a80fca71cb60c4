"""Comparisons, and selection by truth values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import comparison
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import is_float

__all__ = ["BUILDERS", "ELEMENTWISE"]

Array = npt.NDArray[Any]

_FLOAT: Final[Mapping[str, Kernel]] = {
    "EQ": comparison.equal,
    "NE": comparison.not_equal,
    "LT": comparison.less,
    "LE": comparison.less_equal,
    "GT": comparison.greater,
    "GE": comparison.greater_equal,
}
_INTEGER: Final[Mapping[str, np.ufunc]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
_TYPES: Final = frozenset({"FLOAT", "NOTYPE", "SIGNED", "TOTALORDER", "UNSIGNED"})


def _compare(site: Site) -> Kernel:
    site.takes(2)
    left, right = site.operands
    site.demand(left == right, f"needs operands of one type, got {left} and {right}")
    site.yields(left._replace(element="i1"))
    direction, kind = site.word("comparison_direction"), site.word("compare_type", "NOTYPE")
    site.demand(direction in _INTEGER, f"needs a direction of EQ NE LT LE GT GE, got {direction}")
    site.demand(kind in _TYPES, f"needs a type of comparison, got {kind}")
    floats = is_float(left)
    fits = kind == "NOTYPE" or (kind in ("FLOAT", "TOTALORDER")) == floats
    site.demand(fits, f"does not compare elements of {left.element} as {kind}")
    if kind == "TOTALORDER":
        return partial(_total_order, _INTEGER[direction])
    return _FLOAT[direction] if floats else _INTEGER[direction]


def _total_order(compare: np.ufunc, left: Array, right: Array) -> Array:
    """Compares by IEEE 754's totalOrder: -NaN, -inf, ..., -0, +0, ..., inf, NaN."""
    return np.asarray(compare(_ordered(left), _ordered(right)))


def _ordered(array: Array) -> Array:
    bits = array.view(f"i{array.dtype.itemsize}")
    # The magnitudes of negative numbers ascend downward: flipping them makes one order.
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _select(site: Site) -> Kernel:
    site.takes(3)
    mask, on_true, on_false = site.operands
    site.demand(on_true == on_false, f"needs two values of one type, got {on_true} and {on_false}")
    site.demand(
        mask.element == "i1" and mask.shape in ((), on_true.shape),
        f"needs a mask of i1 that is scalar or as {on_true}, got {mask}",
    )
    site.yields(on_true)
    return comparison.select


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
}
