"""Expansions: enclosures of erf and tanh by Taylor polynomials about evenly spaced centers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import Pair, fast_two_sum, halves, pair_sum, pair_times
from topos.payload.kernels.exact_series import error_integral, exponential, half_pi, shifted
from topos.payload.kernels.mapping import Enclosure, Ends, ends, patch, scaled_ends
from topos.payload.kernels.tables import PLACES, columns, pairs, parts

CENTERS_PER_UNIT: Final = 64
_DEGREE: Final = 9
_REFINED_DEGREE: Final = 15
# From this power on the coefficients need no tail.
_PLAIN: Final = 8
_ERF_LAST: Final = 6
_TANH_LAST: Final = 20


class Expansions(NamedTuple):
    """Coefficients of f(c + h) = sum of coefficients[n] h**n, a row for every power n.

    Column i is for the center c = i / 64; `last` is the last center, past which f rounds to 1.
    `value_tail` is what coefficients[0] lacks of f(c); the slope coefficients[1] is also given
    as a head of 26 bits and a tail.
    """

    coefficients: Array
    value_tail: Array
    slope_head: Array
    slope_tail: Array
    last: float


@cache
def erf_expansions() -> Expansions:
    """Returns the expansions of erf up to 6."""
    return _expansions(_erf_about(center, _DEGREE) for center in _centers(_ERF_LAST))


@cache
def tanh_expansions() -> Expansions:
    """Returns the expansions of tanh up to 20."""
    return _expansions(map(_tanh_about, _centers(_TANH_LAST)))


@cache
def _erf_pairs() -> tuple[Pair, ...]:
    """Returns the coefficients of erf about every center up to 6, a pair of rows a power."""
    about = [_erf_about(center, _REFINED_DEGREE) for center in _centers(_ERF_LAST)]
    return tuple(pairs(row) for row in zip(*about, strict=True))


def _centers(last: int) -> range:
    return range(last * CENTERS_PER_UNIT + 1)


def _expansions(about: Iterable[list[int]]) -> Expansions:
    entries = list(about)
    rows = [[entry / (1 << PLACES) for entry in row] for row in zip(*entries, strict=True)]
    _, tails = columns(parts(value, 53, 53) for value, *_ in entries)
    heads, rests = columns(parts(slope, 26, 53) for _, slope, *_ in entries)
    return Expansions(np.array(rows), tails, heads, rests, (len(entries) - 1) / CENTERS_PER_UNIT)


def _erf_about(center: int, degree: int) -> list[int]:
    """Returns the fixed-point coefficients about center / 64, up to a degree.

    The derivative g(h) = 2/sqrt(pi) exp(-(c + h)**2) satisfies g' = -2 (c + h) g, a recurrence
    for its coefficients; those of erf are theirs, integrated.
    """
    point = (center << PLACES) // CENTERS_PER_UNIT
    scaled, power = exponential(shifted(-point * point, 24 - PLACES), PLACES)
    root = math.isqrt((1 << 3 * PLACES + 1) // half_pi(PLACES))
    weight = shifted(scaled * root, power - PLACES)
    slopes = [weight, shifted(-2 * point * weight, -PLACES)]
    for order in range(2, degree):
        falling = shifted(point * slopes[-1], -PLACES) + slopes[-2]
        slopes.append(-2 * falling // order)
    value = shifted(error_integral(point, PLACES) * weight, -PLACES)
    return [value, *(slope // (order + 1) for order, slope in enumerate(slopes))]


def _tanh_about(center: int) -> list[int]:
    """Returns the fixed-point coefficients about center / 64, by t' = 1 - t**2."""
    one = 1 << PLACES
    point = (center << PLACES) // CENTERS_PER_UNIT
    scaled, power = exponential(shifted(-2 * point, 24), PLACES)
    decay = shifted(scaled, power)
    found = [((one - decay) << PLACES) // (one + decay)]
    for order in range(_DEGREE):
        square = sum(found[i] * found[order - i] for i in range(order + 1)) >> PLACES
        found.append(((one if order == 0 else 0) - square) // (order + 1))
    return found


def _nearest_center(magnitude: Array, last: float) -> tuple[Array, Array]:
    """Returns the place of the center nearest to x, and x less that center: |h| <= 2**-7.

    A NaN has no center: `clip` gives it some column, and its step stays NaN.
    """
    bounded = np.minimum(magnitude, last)
    nearest = np.rint(bounded * CENTERS_PER_UNIT)
    return nearest.astype(np.intp), bounded - nearest * (1.0 / CENTERS_PER_UNIT)


def approximate_erf(values: Array) -> Array:
    """Returns erf by the Taylor polynomial about the nearest center, |h| <= 1/128.

    About 0 the sum is h a1 (1 - h*h/3 + ...), elsewhere a0 is at least twice |h| a1, so that the
    value never cancels below 2**-7: the roundings cost it 2**-50 at most, relatively, and the
    remainder a8 h**8, below 0.1 * 2**-56, costs 2**-52.
    """
    column, step = _nearest_center(np.abs(values), _ERF_LAST)
    return np.asarray(np.copysign(_polynomial(erf_expansions(), column, step, 7, 0), values))


def _polynomial(expansions: Expansions, column: Array, step: Array, high: int, low: int) -> Array:
    """Returns the terms of f(c + h) from h**low to h**high, divided by h**low."""
    rows = expansions.coefficients
    total: Array = rows[high].take(column, mode="clip")
    for power in range(high - 1, low - 1, -1):
        total *= step
        total += rows[power].take(column, mode="clip")
    return total


def bracket_tanh(values: Array) -> Ends:
    """Encloses tanh by its expansions; a number below 2**-28 is its own tanh."""
    both = _odd(values, expanded(values, tanh_expansions()))
    tiny = np.abs(values) < 2.0**-28
    return patch(both, tiny, values[tiny]) if tiny.any() else both


def bracket_erf(values: Array) -> Ends:
    """Encloses erf by its expansions; below 2**-900 in magnitude it may be subnormal."""
    both = _odd(values, expanded(values, erf_expansions()))
    tiny = np.abs(values) < 2.0**-900
    return patch(both, tiny, *small_erf(values[tiny])) if tiny.any() else both


def _odd(values: Array, enclosure: Enclosure) -> Ends:
    low, high = ends(*enclosure)
    return np.copysign(low, values), np.copysign(high, values)


def expanded(values: Array, expansions: Expansions) -> Enclosure:
    """Encloses f(|x|) by f(c + h) = a0 + a1 h + a2 h**2 + ... about the nearest center.

    |h| <= 2**-7, and a1 h is exact in its leading part, 26 bits by 26. For both maps |a2| <=
    f(c) <= 2 f(x) and |a3 h| <= 0.4 f(x), so that all terms from a2 on are below 2.4 h*h f(x);
    they and the sums of the tail lose 6.5 u of that, under 2**-49 h*h f(x). What is cut off and
    what the tables lack stays under 2**-69 f(x).
    """
    column, step = _nearest_center(np.abs(values), expansions.last)
    total = _polynomial(expansions, column, step, _DEGREE, 2)
    square = step * step
    total *= square
    front, back = halves(step)
    slope = expansions.slope_head.take(column, mode="clip")
    total += slope * back + expansions.slope_tail.take(column, mode="clip") * step
    total += expansions.value_tail.take(column, mode="clip")
    head, lost = fast_two_sum(expansions.coefficients[0].take(column, mode="clip"), slope * front)
    return Enclosure(head, total + lost, head * (square * 2.0**-49 + 2.0**-68))


def refined_erf(values: Array) -> Ends:
    """Encloses erf x for |x| >= 2**-900."""
    return _odd(values, refined_expansion(np.abs(values)))


def refined_expansion(magnitude: Array) -> Enclosure:
    """Encloses erf x, x >= 0, by f(c + h) = a0 + h (a1 + h (a2 + ...)) about the nearest center.

    |h| <= 2**-7, and h <= f(x) where the center is 0, else |h| <= f(x) too. From a8 h**8 on
    float64 does: 4 u of it is 2**-107 f(x), what is cut off 2**-112 f(x). The products and sums
    of pairs lose 6.1 u*u of a1 h each turn, a sum that is below 2**-101.5 f(x), the last sum 3.1
    u*u and the table 2**-106 of f(x).
    """
    coefficients = _erf_pairs()
    column, step = _nearest_center(magnitude, _ERF_LAST)
    plain = coefficients[_REFINED_DEGREE][0].take(column)
    for power in range(_REFINED_DEGREE - 1, _PLAIN - 1, -1):
        plain = plain * step + coefficients[power][0].take(column)
    total: Pair = plain, np.zeros_like(plain)
    for power in range(_PLAIN - 1, -1, -1):
        head, tail = coefficients[power]
        total = pair_sum((head.take(column), tail.take(column)), pair_times(total, step))
    return Enclosure(*total, np.abs(total[0]) * 2.0**-100)


def small_erf(values: Array) -> Ends:
    """Encloses erf x for |x| <= 2**-60 by x 2/sqrt(pi); what is cut off is x*x/3 of it.

    The product is formed at the scale of x 2**300, where it is exact, and rounded once.
    """
    head, tail = _erf_pairs()[1]
    zoomed = np.minimum(np.abs(values), 2.0**-60) * 2.0**300
    slope = np.full_like(zoomed, head[0]), np.full_like(zoomed, tail[0])
    product, rest = pair_times(slope, zoomed)
    power = np.full(zoomed.shape, -300)
    low, high = scaled_ends(Enclosure(product, rest, product * 2.0**-101), power)
    return np.copysign(low, values), np.copysign(high, values)
