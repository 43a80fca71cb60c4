"""The canonical quiet NaN, and the layout of the floating formats that it is written in."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.payload.element import bf16, f16, f32, f64

Array = npt.NDArray[Any]

# Up to here one comparison and one count beat the reduction that looks for a NaN first.
_SMALL: Final = 8192


class FloatLayout(NamedTuple):
    """The unsigned integer of a format's width, with three patterns: sign, +infinity, NaN."""

    unsigned: np.dtype[Any]
    sign: Any
    infinity: Any
    quiet: Any


def _layout(unsigned: Any, infinity: int, quiet: int) -> FloatLayout:
    bits = np.dtype(unsigned)
    sign = 1 << (8 * bits.itemsize - 1)
    return FloatLayout(bits, bits.type(sign), bits.type(infinity), bits.type(quiet))


LAYOUTS: Final[dict[np.dtype[Any], FloatLayout]] = {
    f64.dtype: _layout(np.uint64, 0x7FF0_0000_0000_0000, 0x7FF8_0000_0000_0000),
    f32.dtype: _layout(np.uint32, 0x7F80_0000, 0x7FC0_0000),
    f16.dtype: _layout(np.uint16, 0x7C00, 0x7E00),
    bf16.dtype: _layout(np.uint16, 0x7F80, 0x7FC0),
}


def is_float(dtype: np.dtype[Any]) -> bool:
    """Returns whether `dtype` is a floating format, of numpy or of an extension such as float8."""
    return dtype in LAYOUTS or (dtype.kind in "fV" and "float" in dtype.name)


def canonical(array: Array) -> Array:
    """Returns `array` with every NaN replaced, in place, by the canonical quiet NaN.

    The canonical NaN has a clear sign and only the quiet bit set: 7ff8..., 7fc00000, 7fc0, 7e00
    (rule 4 of the oracle). Arrays of integers and truth values are returned as they are.
    """
    layout = LAYOUTS.get(array.dtype)
    if layout is None:
        return array
    if array.itemsize == 2:
        # The 16-bit formats have no vector comparison of their own; their bits have.
        magnitude = array.view(layout.unsigned) & ~layout.sign
        not_a_number = magnitude > layout.infinity
    else:
        # The maximum is NaN where any element is, and needs no second array to say so.
        if array.size > _SMALL and not np.isnan(np.maximum.reduce(array, axis=None)):
            return array
        not_a_number = array != array
    if np.count_nonzero(not_a_number):
        np.copyto(array.view(layout.unsigned), layout.quiet, where=not_a_number)
    return array
