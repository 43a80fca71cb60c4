"""Complex numbers as two float64 parts, in which their kernels compute.

complex<f32> computes in float64 and each part rounds once more, so that it is nearly always the
nearest number. A kernel of parts takes and returns contiguous float64 arrays of one axis, x and y
for x + iy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.double_double import fast_two_sum
from topos.payload.kernels.maps_circular import circular, far_circular
from topos.payload.kernels.pairs import Pair

__all__ = ["Parts", "binary", "circle", "joined", "quarter", "split", "unary"]

Parts = tuple[Array, Array]
_REACH = 2.0**18


def split(array: Array) -> Parts:
    """Returns the parts of `array` along one axis."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.real.astype(np.float64), flat.imag.astype(np.float64)


def joined(parts: Parts, like: Array) -> Array:
    """Returns the number of the dtype and shape of `like`, each part rounded, NaN canonical."""
    result = np.empty(like.size, like.dtype)
    result.real, result.imag = parts
    canonical(result.view(f"f{like.dtype.itemsize // 2}"))
    return result.reshape(like.shape)


def unary(each: Callable[[Array, Array], Parts], array: Array) -> Array:
    """Returns what `each` makes of the parts of a complex array."""
    return joined(each(*split(array)), array)


def binary(each: Callable[[Parts, Parts], Parts], left: Array, right: Array) -> Array:
    """Returns what `each` makes of the parts of two complex arrays, which broadcast."""
    left, right = np.broadcast_arrays(left, right)
    return joined(each(split(left), split(right)), left)


def circle(angles: Array) -> tuple[Pair, Pair]:
    """Returns the sine and the cosine as pairs, within 2**-64 of them; NaN where not finite."""
    return _turned(angles, 0), _turned(angles, 128)


def _turned(angles: Array, turn: int) -> Pair:
    """Returns sin(x + turn pi/256)."""
    head, tail, _ = circular(angles, turn)
    far = np.isfinite(angles) & (np.abs(angles) > _REACH)
    if far.any():
        head[far], tail[far], _ = far_circular(angles[far], turn)
    return fast_two_sum(head, tail)


def quarter(x: Array, y: Array) -> Parts:
    """Returns i (x + iy)."""
    return -y, x
