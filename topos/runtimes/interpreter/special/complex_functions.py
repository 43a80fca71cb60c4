"""Complex functions: logarithms, exponentials, powers, and the circular and hyperbolic ones.

The logarithm of the modulus is half that of x*x + y*y, which is taken as a pair, because near
modulus 1 only its last digits count. Products by a large exponential are taken by its square root
twice, so that they overflow only where the result does.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels import maps
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.double_double import (
    Pair,
    fast_two_sum,
    pair_product,
    pair_quotient,
    pair_sum,
    pair_times,
    two_product,
    two_sum,
)
from topos.payload.kernels.exponential import exponential_parts, scaled, small_expm1
from topos.payload.kernels.logarithm import logarithm_parts
from topos.runtimes.interpreter.special.angle import atan2 as angle_of
from topos.runtimes.interpreter.special.angle import hypot
from topos.runtimes.interpreter.special.complex_arithmetic import (
    Parts,
    add,
    circle,
    divide,
    multiply,
    quarter,
    sqrt,
)

# Outside these the squares leave the normal range and the numbers are scaled by _STEP.
_SMALL: Final = 2.0**-450
_LARGE: Final = 2.0**450
_STEP: Final = 600
# Up to here the logarithm is taken by its difference from that of 1.
_NEAR: Final = 2.0**-6
_BEYOND: Final = 700.0
# From here on e**-|x| is nothing beside e**|x|, also in what the tangent needs.
_FAR: Final = 20.0


def log(x: Array, y: Array) -> Parts:
    """Returns ln|z| and the argument, in [-pi, pi]; -inf at 0."""
    head, tail = _log_modulus(x, y)
    return head + tail, angle_of(y, x)


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
    head, tail = _log_modulus(np.where(apart, x + 1.0, 1.0), np.where(apart, y, 0.0))
    square = pair_sum((np.ones_like(x), np.zeros_like(x)), excess)
    inside = ~(near | apart)
    enclosure = logarithm_parts(np.where(inside, square[0], 1.0), np.where(inside, square[1], 0.0))
    wide = np.where(apart, head + tail, 0.5 * (enclosure.head + enclosure.tail))
    return np.where(near, _half_log1p(excess), wide), angle_of(y, x + 1.0)


def _log_modulus(x: Array, y: Array) -> Pair:
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


def _argument(x: Array, y: Array) -> Pair:
    """Returns the argument of z as a pair: one step of Newton's method from the rounded one."""
    angle = angle_of(y, x)
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


def _grown(exponent: Array, factor: Array) -> Array:
    """Returns e**exponent * factor; a factor of zero stays, whatever it multiplies."""
    result = maps.exp(exponent) * factor
    far = np.abs(exponent) > _BEYOND
    if far.any():
        half = maps.exp(exponent[far] * 0.5)
        result[far] = half * factor[far] * half
    return np.where(factor == 0.0, factor, result)


def exp(x: Array, y: Array) -> Parts:
    """Returns e**x cos y and e**x sin y."""
    return _grown(x, maps.cos(y)), _grown(x, maps.sin(y))


def expm1(x: Array, y: Array) -> Parts:
    """Returns e**x cos y - 1, also where that cancels, and e**x sin y.

    The real part is (e**x - 1) cos y - 2 sin(y/2)**2, in pairs.
    """
    (_, cosine), (half, _) = circle(y), circle(y * 0.5)
    fall = pair_product(half, half)
    total = pair_sum(pair_product(_expm1_pair(x), cosine), (-2.0 * fall[0], -2.0 * fall[1]))
    far = np.abs(x) > 50.0
    wide = _grown(x, maps.cos(y)) - 1.0
    # What is smaller than the products of pairs can be is linear.
    tiny = (np.abs(x) < 2.0**-500) & (np.abs(y) < 2.0**-500)
    real = np.where(far, wide, np.where(tiny, x - 0.5 * y * y, total[0] + total[1]))
    return real, _grown(x, maps.sin(y))


def _expm1_pair(x: Array) -> Pair:
    """Returns e**x - 1 for |x| <= 50, within 2**-58 of it relatively."""
    head, tail, exponent = exponential_parts(np.clip(x, -50.0, 50.0))
    head, lost = two_sum(scaled(head, exponent), -1.0)
    head, tail = fast_two_sum(head, lost + scaled(tail, exponent))
    near = np.abs(x) < 2.0**-6
    small = small_expm1(np.where(near, x, 0.0))
    return np.where(near, small.head, head), np.where(near, small.tail, tail)


def logistic(x: Array, y: Array) -> Parts:
    """Returns 1 / (1 + e**-z)."""
    real, imaginary = exp(-x, -y)
    one = np.ones_like(x)
    near = np.abs(x) <= 50.0
    result = divide(
        (one, np.zeros_like(x)), (np.where(near, _one_more(-x, y), real + 1.0), imaginary)
    )
    # From here on 1 is nothing beside e**-z.
    below = x < -40.0
    shrunk = exp(x, y)
    return np.where(below, shrunk[0], result[0]), np.where(below, shrunk[1], result[1])


def _one_more(x: Array, y: Array) -> Array:
    """Returns e**x cos y + 1, also where that cancels: (e**x - 1) cos y + 2 cos(y/2)**2."""
    (_, cosine), (_, half) = circle(y), circle(y * 0.5)
    rise = pair_product(half, half)
    total = pair_sum(pair_product(_expm1_pair(x), cosine), (2.0 * rise[0], 2.0 * rise[1]))
    return np.asarray(total[0] + total[1])


def power(base: Parts, exponent: Parts) -> Parts:
    """Returns e**(w ln z) by its principal branch; z**0 is 1, and 0**w is 0 where Re w > 0."""
    (x, y), (c, d) = base, exponent
    size, angle = _log_modulus(x, y), _argument(x, y)
    grow = pair_sum(pair_times(size, c), pair_times(angle, -d))
    turn = pair_sum(pair_times(size, d), pair_times(angle, c))
    magnitude, binary = _exponential(grow)
    (sine, sine_tail), (cosine, cosine_tail) = circle(turn[0])
    real = magnitude * (cosine + (cosine_tail - sine * turn[1]))
    imaginary = magnitude * (sine + (sine_tail + cosine * turn[1]))
    return _power_special(base, exponent, (np.ldexp(real, binary), np.ldexp(imaginary, binary)))


def _exponential(pair: Pair) -> tuple[Array, Array]:
    """Returns m and k with e**pair = m 2**k; past the range of float64 k says so."""
    head, tail, binary = exponential_parts(np.clip(pair[0], -790.0, 790.0), pair[1])
    return head + tail, np.clip(binary, -3000, 3000).astype(np.int32)


def _power_special(base: Parts, exponent: Parts, result: Parts) -> Parts:
    (x, y), (c, d) = base, exponent
    whole = (c == 0.0) & (d == 0.0)
    nothing = (x == 0.0) & (y == 0.0) & ~whole
    vanishes = nothing & (c > 0.0)
    real = np.where(whole, 1.0, np.where(vanishes, 0.0, np.where(nothing, np.nan, result[0])))
    rest = np.where(whole | vanishes, 0.0, np.where(nothing, np.nan, result[1]))
    return real, rest


def _cosh_times(y: Array, factor: Array) -> Array:
    growth = maps.exp(np.minimum(np.abs(y), _FAR))
    near = factor * (0.5 * growth + 0.5 / growth)
    return np.where(np.abs(y) <= _FAR, near, _grown(np.abs(y), 0.5 * factor))


def _sinh_times(y: Array, factor: Array) -> Array:
    near = factor * _sinh(np.clip(y, -_FAR, _FAR))
    return np.where(np.abs(y) <= _FAR, near, _grown(np.abs(y), np.copysign(0.5, y) * factor))


def _sinh(y: Array) -> Array:
    growth = maps.expm1(np.abs(y))
    return np.copysign(0.5 * (growth + growth / (growth + 1.0)), y)


def sin(x: Array, y: Array) -> Parts:
    """Returns sin x cosh y and cos x sinh y."""
    return _cosh_times(y, maps.sin(x)), _sinh_times(y, maps.cos(x))


def cos(x: Array, y: Array) -> Parts:
    """Returns cos x cosh y and -sin x sinh y."""
    return _cosh_times(y, maps.cos(x)), _sinh_times(y, -maps.sin(x))


def tanh(x: Array, y: Array) -> Parts:
    """Returns sinh x cosh x and sin y cos y over sinh(x)**2 + cos(y)**2, of pairs."""
    sine, cosine = circle(y)
    small, large = _hyperbolic(np.clip(x, -_FAR, _FAR))
    size = pair_sum(pair_product(small, small), pair_product(cosine, cosine))
    real = pair_quotient(pair_product(small, large), size)
    imaginary = pair_quotient(pair_product(sine, cosine), size)
    far = np.abs(x) > _FAR
    # There 4 e**-2|x| is one over the square, and the real part rounds to 1.
    shrunk = _grown(-2.0 * np.abs(x), 4.0 * sine[0] * cosine[0])
    shrunk = np.where(np.isinf(x), np.copysign(0.0, np.where(np.isfinite(y), shrunk, y)), shrunk)
    whole = np.where(np.isfinite(y) | np.isinf(x), np.copysign(1.0, x), np.nan)
    return (
        np.where(far, whole, np.where(x == 0.0, x, real[0])),
        np.where(y == 0.0, y, np.where(far, shrunk, imaginary[0])),
    )


def _hyperbolic(x: Array) -> tuple[Pair, Pair]:
    """Returns sinh x and cosh x for |x| <= 20: with E = e**x, half of (E - 1)(1 + 1/E), E + 1/E."""
    less = _expm1_pair(x)
    one = np.ones_like(x), np.zeros_like(x)
    growth = pair_sum(less, one)
    inverse = pair_quotient(one, growth)
    small = pair_product(less, pair_sum(one, inverse))
    large = pair_sum(growth, inverse)
    return (0.5 * small[0], 0.5 * small[1]), (0.5 * large[0], 0.5 * large[1])


def tan(x: Array, y: Array) -> Parts:
    """Returns -i tanh(iz)."""
    real, imaginary = tanh(*quarter(x, y))
    return imaginary, -real


def atan2(left: Parts, right: Parts) -> Parts:
    """Returns -i log((x + iy) / sqrt(x*x + y*y)), of complex y and x."""
    # A root and an argument look at signs, and the sign of a new NaN is the processor's.
    squares = map(canonical, add(multiply(right, right), multiply(left, left)))
    quotient = map(canonical, divide(add(right, quarter(*left)), sqrt(*squares)))
    real, imaginary = log(*quotient)
    return imaginary, -real
