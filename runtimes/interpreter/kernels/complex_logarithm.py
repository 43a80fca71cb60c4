"""Complex logarithms: log, log(1 + z) and the logarithm and argument as pairs for the power.

The logarithm of the modulus is half that of x*x + y*y, which is taken as a pair, because near
modulus 1 only its last digits count.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import maps
from topos.payload.kernels.double_double import fast_two_sum, two_product, two_sum
from topos.payload.kernels.maps_logarithm import logarithm_parts
from topos.payload.kernels.pairs import Pair, pair_sum, pair_times
from topos.runtimes.interpreter.special.angle import atan2
from topos.runtimes.interpreter.special.complex_parts import Parts, circle
from topos.runtimes.interpreter.special.modulus import hypot

__all__ = ["argument", "log", "log1p", "log_modulus"]

Array = npt.NDArray[Any]
# Outside these the squares leave the normal range and the numbers are scaled by _STEP.
_SMALL: Final = 2.0**-450
_LARGE: Final = 2.0**450
_STEP: Final = 600
# Up to here the logarithm is taken by its difference from that of 1.
_NEAR: Final = 2.0**-6


def log(x: Array, y: Array) -> Parts:
    """Returns ln|z| and the argument, in [-pi, pi]; -inf at 0."""
    head, tail = log_modulus(x, y)
    return head + tail, atan2(y, x)


def log1p(x: Array, y: Array) -> Parts:
    """Returns ln|1 + z|, half of ln(1 + (2x + x*x + y*y)), and the argument of 1 + z."""
    far = ~((np.abs(x) < _LARGE) & (np.abs(y) < _LARGE))
    inner_x, inner_y = np.where(far, 0.0, x), np.where(far, 0.0, y)
    excess = _sum_of_three(
        2.0 * inner_x, two_product(inner_y, inner_y), two_product(inner_x, inner_x)
    )
    near = (np.abs(excess[0]) < _NEAR) & ~far
    # Beside -1 the sum 1 + x is exact, but 1 + excess has lost its digits.
    apart = far | (excess[0] < -0.5)
    head, tail = log_modulus(np.where(apart, x + 1.0, 1.0), np.where(apart, y, 0.0))
    square = pair_sum((np.ones_like(x), np.zeros_like(x)), excess)
    inside = ~(near | apart)
    enclosure = logarithm_parts(np.where(inside, square[0], 1.0), np.where(inside, square[1], 0.0))
    wide = np.where(apart, head + tail, 0.5 * (enclosure.head + enclosure.tail))
    return np.where(near, _half_log1p(excess), wide), atan2(y, x + 1.0)


def log_modulus(x: Array, y: Array) -> Pair:
    """Returns ln|z| as a pair; its tail is 0 where it is not finite."""
    large, small = np.maximum(np.abs(x), np.abs(y)), np.minimum(np.abs(x), np.abs(y))
    lift = np.where(large < _SMALL, _STEP, np.where(large > _LARGE, -_STEP, 0))
    inside = (large > 0.0) & np.isfinite(large)
    first = np.ldexp(np.where(inside, large, 1.0), np.where(inside, lift, 0).astype(np.int32))
    second = np.ldexp(np.where(inside, small, 0.0), np.where(inside, lift, 0).astype(np.int32))
    head, tail = _log_of_squares(first, second, np.where(inside, lift, 0))
    # A zero has the logarithm -inf and an infinity +inf, whatever the other part is.
    infinite = np.isinf(x) | np.isinf(y)
    special = np.where(infinite, np.inf, np.where(large == 0.0, -np.inf, np.nan))
    return np.where(inside, head, special), np.where(inside, tail, 0.0)


def argument(x: Array, y: Array) -> Pair:
    """Returns the argument of z as a pair: one step of Newton's method from the rounded one."""
    angle = atan2(y, x)
    exponent = -np.frexp(np.maximum(np.abs(x), np.abs(y)))[1]
    x, y = np.ldexp(x, exponent), np.ldexp(y, exponent)
    (sine, sine_tail), cosine = circle(angle)
    # |z| sin(exact - angle), in which the leading digits cancel.
    rest = pair_sum(pair_times(cosine, y), pair_times((-sine, -sine_tail), x))
    step = (rest[0] + rest[1]) / hypot(x, y)
    # Where the angle is about as small as numbers are, it has fewer digits than the step needs.
    usable = np.isfinite(step) & (np.abs(angle) > 2.0**-960)
    return angle, np.where(usable, step, np.copysign(0.0, angle))


def _log_of_squares(large: Array, small: Array, lift: Array) -> Pair:
    """Returns half of ln((a*a + b*b) / 2**(2 lift)) for a >= b >= 0, a of no extreme size."""
    first, second = two_product(large, large), two_product(small, small)
    total = pair_sum(first, second)
    enclosure = logarithm_parts(*total, 2 * lift)
    return fast_two_sum(enclosure.head * 0.5, enclosure.tail * 0.5)


def _sum_of_three(number: Array, first: Pair, second: Pair) -> Pair:
    """Returns number + first + second, to a pair's digits also where the three heads cancel."""
    head, lost = two_sum(number, first[0])
    head, more = two_sum(head, second[0])
    # Then the tails are all there is, and what their own sum loses counts.
    tail, rest = two_sum(first[1], second[1])
    head, slack = two_sum(head, tail)
    return two_sum(head, (lost + more) + (rest + slack))


def _half_log1p(pair: Pair) -> Array:
    near = np.where(np.abs(pair[0]) < _NEAR, pair[0], 0.0)
    return np.asarray(0.5 * (maps.log1p(near) + pair[1] / (1.0 + near)))
