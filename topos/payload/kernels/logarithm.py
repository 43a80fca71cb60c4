"""Logarithms: enclosures of ln and log1p, quick and refined."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import (
    Constant,
    Pair,
    fast_two_sum,
    pair_product,
    pair_sum,
    two_product,
    two_sum,
    two_to,
)
from topos.payload.kernels.exact_series import logarithm, natural_log_of_two
from topos.payload.kernels.mapping import Enclosure, Ends, ends, patch
from topos.payload.kernels.tables import PLACES, columns, pair_series, pairs, parts, rounded_to

REFINED_LOGARITHM_ERROR: Final = 2.0**-102
_TURN: Final = 848
_FRACTION: Final = (1 << 52) - 1
_ONE: Final = 0x3FF << 52
_SMALLEST: Final = 2.0**-1022
_LARGEST: Final = np.finfo(np.float64).max


class LogarithmTable(NamedTuple):
    """For each of 2048 intervals of [1, 2) a 12-bit c near 1/m, and -ln c as head + tail.

    From interval `turn` on the logarithm is that of m/2, so that it is small near 1 from both
    sides and the first and last intervals, where c is 1 and 1/2, have the logarithm 0. Heads
    are multiples of 2**-42, as is the head of ln 2: sums of heads are exact.
    """

    reciprocal: Array
    head: Array
    tail: Array
    turn: int
    two: tuple[float, float]


@cache
def logarithm_table() -> LogarithmTable:
    """Returns the table; |m c - 1| is below 2**-11 in every interval."""
    head, tail = columns(map(_on_grid, _entries()))
    reciprocal = np.array([numerator / 4096 for numerator in _numerators()])
    return LogarithmTable(reciprocal, head, tail, _TURN, _on_grid(natural_log_of_two(PLACES)))


def _numerators() -> list[int]:
    inner = [round(4096 * 4096 / (4097 + 2 * i)) for i in range(1, 2047)]
    return [4096, *inner, 2048]


@cache
def _entries() -> tuple[int, ...]:
    """Returns the fixed-point -ln c, or -ln 2c from the turn on, of all intervals."""
    doubled = [n * 2 if i >= _TURN else n for i, n in enumerate(_numerators())]
    return tuple(-logarithm(n << (PLACES - 12), PLACES) if n != 4096 else 0 for n in doubled)


def _on_grid(entry: int) -> tuple[float, float]:
    head = rounded_to(entry, PLACES - 42)
    return head / (1 << PLACES), (entry - head) / (1 << PLACES)


class _Rests(NamedTuple):
    """What the heads of the table of logarithms lack of -ln c, and that of ln 2 of ln 2."""

    rest: Pair
    two: Constant


@cache
def _rests() -> _Rests:
    """Returns the rests of the table, each below 2**-43."""
    table, one = logarithm_table(), 1 << PLACES
    rests = [
        entry - int(head * one) for entry, head in zip(_entries(), table.head.tolist(), strict=True)
    ]
    head, tail = parts(natural_log_of_two(PLACES) - int(table.two[0] * one), 53, 53)
    return _Rests(pairs(rests), (head, tail))


class _Reduced(NamedTuple):
    """x = m 2**e for normal x > 0: e as a float, the interval of m, its c, and r = m c - 1.

    r is exact: it has 53 bits, since c has 12 and |r| < 2**-11.
    """

    exponent: Array
    interval: Array
    reciprocal: Array
    near: Array


def _reduced(values: Array, lift: Array | int) -> _Reduced:
    """Returns the parts of `values` / 2**lift."""
    table = logarithm_table()
    bits = values.view(np.int64)
    # Adding at the turn carries into the exponent: from there on the logarithm is that of m/2.
    exponent = ((bits + ((2048 - table.turn) << 41)) >> 52) - (1023 + lift)
    interval = (bits >> 41) & 2047
    fraction = (bits & _FRACTION) | _ONE
    front = (fraction & -0x4000000).view(np.float64)
    reciprocal = table.reciprocal.take(interval)
    near = (front * reciprocal - 1.0) + (fraction.view(np.float64) - front) * reciprocal
    return _Reduced(exponent.astype(np.float64), interval, reciprocal, near)


def _in_units_of(values: Array, rest: Array) -> Array:
    """Returns rest * 2**-e for values of m 2**e."""
    # Past 2**1000 the rest is far below the error, and 2**-e would be subnormal.
    return rest * two_to(1023 - np.minimum(values.view(np.int64) >> 52, 2023))


def logarithm_parts(values: Array, rest: Array | None = None, lift: Array | int = 0) -> Enclosure:
    """Encloses ln((x + rest) / 2**lift) for normal x > 0 and |rest| at most half a unit of it.

    ln x = e ln2 - ln c + ln(1 + r); the sum of the heads is exact, zero or larger than |r|. A rest
    contributes rest * 2**-e * c to r, at most 2**-53.
    The series r**2 (-1/2 + r/3 - ...) loses 2.6 u of r*r/2, the sums of the tail 2 u of it,
    leaving out r times the rest's share u r*r, the rounding of `ends` another half: below
    2**-51 r*r. The cut r**7/7 is under 2**-68.8 |r|; what stays is under 2**-80 of the result.
    """
    table = logarithm_table()
    count, interval, reciprocal, near = _reduced(values, lift)
    slack: Array | float = 0.0
    if rest is not None:
        near, slack = two_sum(near, _in_units_of(values, rest) * reciprocal)
    square = near * near
    series = near * (1 / 3 - near * (0.25 - near * (0.2 - near * (1 / 6))))
    tail = square * (series - 0.5)
    head, lost = fast_two_sum(count * table.two[0] + table.head.take(interval), near)
    tail += (count * table.two[1] + table.tail.take(interval)) + (lost + slack)
    return Enclosure(head, tail, square * 2.0**-51 + np.abs(head) * 2.0**-68)


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
    return _patched(values, 0.0, inside, ends(*logarithm_parts(argument, lift=lift)))


def bracket_log1p(values: Array) -> Ends:
    """Encloses ln(1 + x); a number below 2**-54 is its own."""
    inside = (values > -1.0) & (values <= _LARGEST)
    whole = inside.all()
    both = ends(*logarithm_parts(*two_sum(values if whole else np.where(inside, values, 1.0), 1.0)))
    tiny = np.abs(values) < 2.0**-54
    if tiny.any():
        patch(both, tiny, values[tiny])
    return both if whole else _patched(values, -1.0, inside, both)


def _patched(values: Array, limit: float, inside: Array, both: Ends) -> Ends:
    """Writes the lanes outside the domain; `limit` is where the logarithm is -inf."""
    argument = values[~inside]
    known = np.where(argument == np.inf, np.inf, np.where(argument == limit, -np.inf, np.nan))
    return patch(both, ~inside, known)


def logarithm_pair(values: Array, rest: Array | None, lift: Array | int) -> Pair:
    """Returns ln((x + rest) / 2**lift) within 2**-102.5 of it, relatively, for normal x > 0.

    As in the quick phase it is (e ln2 - ln c) + ln(1 + r): the sum of the heads H is exact, zero
    or at least 1.9 times |r|, which is so at most 1.2 times the result. The two rests, below
    2**-32 together, have 4 u*u of themselves; ln(1 + r) is within 2**-104, and both sums lose
    3.1 u*u of what they give.
    """
    table, rest_of = logarithm_table(), _rests()
    count, interval, reciprocal, near = _reduced(values, lift)
    argument = near, np.zeros_like(near)
    if rest is not None:
        argument = pair_sum(two_product(_in_units_of(values, rest), reciprocal), argument)
    two = two_product(count, np.full_like(count, rest_of.two[0]))
    two = fast_two_sum(two[0], two[1] + count * rest_of.two[1])
    rests = pair_sum((rest_of.rest[0].take(interval), rest_of.rest[1].take(interval)), two)
    head = count * table.two[0] + table.head.take(interval)
    return pair_sum(pair_sum((head, np.zeros_like(head)), _logarithm_of_one_and(argument)), rests)


def _logarithm_of_one_and(argument: Pair) -> Pair:
    """Returns ln(1 + r) within 2**-104 of it, relatively, for |r| <= 2**-10.9.

    It is r - r**2 (1/2 - r (1/3 - r (1/4 - r (1/5 - r q)))) with q = 1/6 - r/7 + ... in float64:
    its 4 u weigh r**5/6, the products and sums of pairs lose 14 u*u of r/2, the last sum 3.1 u*u
    of all, and the cut r**10/11 is below 2**-112.
    """
    near = -argument[0]
    negative = near, -argument[1]
    quotient = 1 / 6 + near * (1 / 7 + near * (1 / 8 + near * (1 / 9 + near * (1 / 10))))
    series = pair_series(negative, quotient, (5, 4, 3, 2))
    square = pair_product(argument, negative)
    return pair_sum(argument, pair_product(square, series))


def refined_ln(values: Array) -> Ends:
    """Encloses ln x for finite x > 0."""
    argument, lift = raised_subnormals(values)
    head, tail = logarithm_pair(argument, None, lift)
    return ends(head, tail, np.abs(head) * REFINED_LOGARITHM_ERROR)


def refined_log1p(values: Array) -> Ends:
    """Encloses ln(1 + x) for finite x > -1, |x| >= 2**-54."""
    total, rest = two_sum(values, 1.0)
    head, tail = logarithm_pair(total, rest, 0)
    return ends(head, tail, np.abs(head) * REFINED_LOGARITHM_ERROR)
