"""Logic and bits: and, or, xor, not, shifts, counts, and the reinterpretation of bits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.operations import integers
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import dtype_of, is_float

__all__ = ["BUILDERS", "ELEMENTWISE", "LOGIC"]

Array = npt.NDArray[Any]

LOGIC: Final[Mapping[str, np.ufunc]] = {
    "stablehlo.and": np.bitwise_and,
    "stablehlo.or": np.bitwise_or,
    "stablehlo.xor": np.bitwise_xor,
}


def _shift_right_logical(array: Array, amount: Array) -> Array:
    unsigned = f"u{array.dtype.itemsize}"
    return integers.shift_right(array.view(unsigned), amount.view(unsigned)).view(array.dtype)


def _shift_right_arithmetic(array: Array, amount: Array) -> Array:
    signed = f"i{array.dtype.itemsize}"
    return integers.shift_right(array.view(signed), amount.view(signed)).view(array.dtype)


def _population(array: Array) -> Array:
    # numpy counts the bits of a signed number's magnitude, so the bits are read as unsigned.
    count = np.bitwise_count(array.view(f"u{array.dtype.itemsize}"))
    return np.asarray(count.astype(array.dtype))


_LOGICAL: Final[Mapping[str, Kernel]] = {**LOGIC, "stablehlo.not": np.invert}
_INTEGER: Final[Mapping[str, Kernel]] = {
    "stablehlo.count_leading_zeros": integers.leading_zeros,
    "stablehlo.popcnt": _population,
    "stablehlo.shift_left": integers.shift_left,
    "stablehlo.shift_right_arithmetic": _shift_right_arithmetic,
    "stablehlo.shift_right_logical": _shift_right_logical,
}
_UNARY: Final = frozenset({"stablehlo.count_leading_zeros", "stablehlo.not", "stablehlo.popcnt"})


def _bitwise(site: Site) -> Kernel:
    site.takes(1 if site.name in _UNARY else 2)
    first = site.operands[0]
    site.demand(
        site.operands[-1] == first,
        f"needs operands of one type, got {' and '.join(map(str, site.operands))}",
    )
    site.yields(first)
    wrong = is_float(first) or (first.element == "i1" and site.name in _INTEGER)
    site.demand(not wrong, f"takes no elements of {first.element}")
    return _LOGICAL.get(site.name) or _INTEGER[site.name]


def _bitcast(site: Site) -> Kernel:
    site.takes(1)
    (operand,), (result,) = site.operands, site.results
    source, target = dtype_of(operand), dtype_of(result)
    if source.itemsize != target.itemsize or "i1" in (operand.element, result.element):
        site.unsupported(f"from {operand} to {result} is not supported")
    site.yields(operand._replace(element=result.element))
    return partial(_viewed, target)


def _viewed(dtype: np.dtype[Any], array: Array) -> Array:
    return array.view(dtype)


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {
    **dict.fromkeys((*_LOGICAL, *_INTEGER), _bitwise),
    "stablehlo.bitcast_convert": _bitcast,
}
