"""Wide logarithms: double-double enclosures of ln and log1p."""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, two_sum
from topos.payload.kernels.maps_wide import Enclosure, Ends, ends
from topos.payload.kernels.tables import logarithm_table

__all__ = ["bracket_ln", "bracket_log1p", "logarithm_parts", "raised_subnormals"]

_FRACTION = (1 << 52) - 1
_ONE = 0x3FF << 52
_SMALLEST = 2.0**-1022
_LARGEST = np.finfo(np.float64).max


def logarithm_parts(values: Array, rest: Array | None = None, lift: Array | int = 0) -> Enclosure:
    """Encloses ln((x + rest) / 2**lift) for normal x > 0 and |rest| at most half a unit of it.

    x = m 2**e and ln x = e ln2 - ln c + ln(1 + r) with r = m c - 1 exactly, which has 53 bits
    since c has 12 and |r| < 2**-11. The sum of the heads is exact, zero or larger than |r|.
    The series r**2 (-1/2 + r/3 - ...) loses 2.6 u of r*r/2, the sums of the tail 2 u of it,
    leaving out r times the rest's share u r*r, the rounding of `ends` another half: below
    2**-51 r*r. The cut r**7/7 is under 2**-68.8 |r|; what stays is under 2**-80 of the result.
    """
    table = logarithm_table()
    bits = values.view(np.int64)
    # Adding at the turn carries into the exponent: from there on the logarithm is that of m/2.
    exponent = ((bits + ((2048 - table.turn) << 41)) >> 52) - (1023 + lift)
    count = exponent.astype(np.float64)
    index = (bits >> 41) & 2047
    fraction = (bits & _FRACTION) | _ONE
    front = (fraction & -0x4000000).view(np.float64)
    reciprocal = table.reciprocal.take(index)
    near = (front * reciprocal - 1.0) + (fraction.view(np.float64) - front) * reciprocal
    slack: Array | float = 0.0
    if rest is not None:
        near, slack = _moved(near, rest, reciprocal, bits)
    square = near * near
    series = near * (1 / 3 - near * (0.25 - near * (0.2 - near * (1 / 6))))
    tail = square * (series - 0.5)
    head, lost = fast_two_sum(count * table.two[0] + table.head.take(index), near)
    tail += (count * table.two[1] + table.tail.take(index)) + (lost + slack)
    return Enclosure(head, tail, square * 2.0**-51 + np.abs(head) * 2.0**-68)


def _moved(near: Array, rest: Array, reciprocal: Array, bits: Array) -> tuple[Array, Array]:
    """Adds to r what `rest` contributes: rest * 2**-e * c, at most 2**-53."""
    # Past 2**1000 the rest is far below the error, and 2**-e would be subnormal.
    binary = np.minimum(bits >> 52, 2023)
    return two_sum(near, rest * ((2046 - binary) << 52).view(np.float64) * reciprocal)


def _patched(values: Array, limit: float, inside: Array, low: Array, high: Array) -> Ends:
    """Writes the lanes outside the domain; `limit` is where the logarithm is -inf."""
    outside = np.flatnonzero(~inside)
    argument = values[outside]
    low[outside] = np.where(argument == np.inf, np.inf, np.nan)
    low[outside[argument == limit]] = -np.inf
    high[outside] = low[outside]
    return low, high


def raised_subnormals(values: Array) -> tuple[Array, Array]:
    """Returns values * 2**lift, normal, and lift: 54 where a number is subnormal, 0 elsewhere."""
    subnormal = values < _SMALLEST
    return np.where(subnormal, values * 2.0**54, values), np.where(subnormal, 54, 0)


def bracket_ln(values: Array) -> Ends:
    """Encloses ln x."""
    if ((values >= _SMALLEST) & (values <= _LARGEST)).all():
        return ends(*logarithm_parts(values))
    inside = (values > 0.0) & (values <= _LARGEST)
    argument, lift = raised_subnormals(np.where(inside, values, 2.0))
    low, high = ends(*logarithm_parts(argument, lift=lift))
    return _patched(values, 0.0, inside, low, high)


def bracket_log1p(values: Array) -> Ends:
    """Encloses ln(1 + x); a number below 2**-54 is its own."""
    inside = (values > -1.0) & (values <= _LARGEST)
    whole = inside.all()
    total, rest = two_sum(values if whole else np.where(inside, values, 1.0), 1.0)
    low, high = ends(*logarithm_parts(total, rest))
    tiny = np.abs(values) < 2.0**-54
    if tiny.any():
        low[tiny] = high[tiny] = values[tiny]
    return (low, high) if whole else _patched(values, -1.0, inside, low, high)
