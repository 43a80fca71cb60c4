"""Logic and bits: and, or, xor, not, shifts and counts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels import integers
from topos.runtimes.interpreter.kernels.small import NARROW_INTEGERS, narrow, of_bits
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import ELEMENTS, width

__all__ = ["BUILDERS", "ELEMENTWISE", "LOGIC"]

Array = npt.NDArray[Any]

LOGIC: Final[Mapping[str, np.ufunc]] = {
    "stablehlo.and": np.bitwise_and,
    "stablehlo.or": np.bitwise_or,
    "stablehlo.xor": np.bitwise_xor,
}


def _shift_right_logical(array: Array, amount: Array) -> Array:
    unsigned = f"u{array.dtype.itemsize}"
    return np.asarray(np.right_shift(array.view(unsigned), amount.view(unsigned))).view(array.dtype)


def _shift_right_arithmetic(array: Array, amount: Array) -> Array:
    signed = f"i{array.dtype.itemsize}"
    return np.asarray(np.right_shift(array.view(signed), amount.view(signed))).view(array.dtype)


# Shifted by their width or more, numbers lose all their bits in numpy as in the standard, where a
# negative amount is a great one. Numbers of fewer than eight bits keep their sign in eight.
_SIGNED: Final[Mapping[str, Kernel]] = {
    **LOGIC,
    "stablehlo.not": np.invert,
    "stablehlo.shift_left": np.left_shift,
    "stablehlo.shift_right_arithmetic": _shift_right_arithmetic,
}
# Here the sign would be mistaken for bits.
_UNSIGNED: Final[Mapping[str, Kernel]] = {
    "stablehlo.count_leading_zeros": integers.leading_zeros,
    "stablehlo.popcnt": integers.population,
    "stablehlo.shift_right_logical": _shift_right_logical,
}


def _bitwise(context: BuildContext) -> Kernel:
    element = context.operands[0].element
    kernel = _SIGNED.get(context.name) or _UNSIGNED[context.name]
    if element not in NARROW_INTEGERS:
        return kernel
    if context.name == "stablehlo.count_leading_zeros":
        kernel = partial(integers.leading_zeros, unused=8 - width(element))
    if context.name in _UNSIGNED:
        return of_bits(kernel, element)
    # An unsigned number has the sign of its bits where it is shifted arithmetically.
    signed = element.removeprefix("u")
    return partial(_as_signed, narrow(kernel, signed), ELEMENTS[signed])


def _as_signed(kernel: Kernel, signed: np.dtype[Any], *arrays: Array) -> Array:
    result = np.asarray(kernel(*[array.view(signed) for array in arrays]))
    return result.view(arrays[0].dtype)


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = dict.fromkeys((*_SIGNED, *_UNSIGNED), _bitwise)
