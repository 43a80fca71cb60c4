"""Logic and bits: and, or, xor, not, shifts and counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.operations import integers
from topos.runtimes._stablehlo.operations.small import NARROW_INTEGERS, narrow, of_bits
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import width

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


# Numbers of fewer than eight bits keep their sign in eight.
_SIGNED: Final[Mapping[str, Kernel]] = {
    **LOGIC,
    "stablehlo.not": np.invert,
    "stablehlo.shift_left": integers.shift_left,
    "stablehlo.shift_right_arithmetic": _shift_right_arithmetic,
}
# Here the sign would be mistaken for bits.
_UNSIGNED: Final[Mapping[str, Kernel]] = {
    "stablehlo.count_leading_zeros": integers.leading_zeros,
    "stablehlo.popcnt": integers.population,
    "stablehlo.shift_right_logical": _shift_right_logical,
}
