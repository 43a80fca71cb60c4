"""Checks of the floating-point environment that the kernels compute in."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.errors import FlushedSubnormalsError

# Each pair of products has a subnormal result (the smallest normal number, halved) and a
# subnormal operand (the smallest number of all, scaled up to a normal one).
_LEFT32: Final = np.array([2.0**-126, 2.0**-149], np.float32)
_RIGHT32: Final = np.array([0.5, 2.0**100], np.float32)
_PRODUCT32: Final = np.array([0x0040_0000, (127 - 49) << 23], np.uint32).tobytes()
_LEFT64: Final = np.array([2.0**-1022, 2.0**-1074], np.float64)
_RIGHT64: Final = np.array([0.5, 2.0**1000], np.float64)
_PRODUCT64: Final = np.array([1 << 51, (1023 - 74) << 52], np.uint64).tobytes()

_INFINITY: Final = np.array([np.inf])


@np.errstate(all="ignore")
def demand_subnormals() -> None:
    """Raises `FlushedSubnormalsError` where this thread's arithmetic loses subnormal numbers.

    Flushing is a mode of the processor that a library built with fast-math may switch on; each
    thread has its own. Results and operands, float32 and float64 are all tried. The expected
    bits are compared as bytes, because in such a mode even a comparison flushes.
    """
    if (
        np.multiply(_LEFT32, _RIGHT32).tobytes() == _PRODUCT32
        and np.multiply(_LEFT64, _RIGHT64).tobytes() == _PRODUCT64
    ):
        return
    raise FlushedSubnormalsError(
        "arithmetic needs subnormal numbers, got zeros in their place; some library of this"
        " process has switched flush-to-zero on"
    )


def reports_invalid_operations() -> bool:
    """Returns whether numpy tells of an invalid operation, such as infinity less infinity.

    Where it does, a run under `np.errstate(invalid="raise")` that does not raise made no NaN
    of its own.
    """
    with np.errstate(invalid="raise"):
        try:
            np.subtract(_INFINITY, _INFINITY)
        except FloatingPointError:
            return True
    return False
