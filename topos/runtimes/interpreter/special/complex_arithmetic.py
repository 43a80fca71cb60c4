"""Complex arithmetic on two float64 parts: sums, products, quotients, roots and signs.

complex<f32> computes in float64 and each part rounds once more, so that it is nearly always the
nearest number. A kernel of parts takes and returns contiguous float64 arrays of one axis, x and y
for x + iy. numpy's complex product may fuse a multiplication and an addition where the processor
can; the elements' products, quotients and sums here are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import maps, reduction
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.circular import circular, far_circular
from topos.payload.kernels.double_double import Pair, fast_two_sum, two_product, two_sum
from topos.payload.kernels.mapping import mapped
from topos.runtimes.interpreter.special.angle import CBRT, atan2, hypot

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


def complex_of(real: Array, imaginary: Array, dtype: npt.DTypeLike = np.complex128) -> Array:
    """Returns the complex numbers of two arrays of parts, as they are."""
    result = np.empty(real.shape, dtype)
    result.real, result.imag = real, imaginary
    return result


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


_HUGE: Final = 2.0**980


def add(left: Parts, right: Parts) -> Parts:
    """Returns the sum by parts."""
    return left[0] + right[0], left[1] + right[1]


def subtract(left: Parts, right: Parts) -> Parts:
    """Returns the difference by parts."""
    return left[0] - right[0], left[1] - right[1]


def multiply(left: Parts, right: Parts) -> Parts:
    """Returns (ac - bd) + i(ad + bc), as written: an infinity times a zero part is NaN."""
    (a, b), (c, d) = left, right
    return a * c - b * d, a * d + b * c


def divide(left: Parts, right: Parts) -> Parts:
    """Returns the quotient without overflow on the way; infinities as in C99, Annex G.5.1."""
    (a, b), (c, d) = left, right
    exponent = np.frexp(np.maximum(np.abs(c), np.abs(d)))[1]
    exponent = np.where(np.isfinite(c) & np.isfinite(d), exponent, 0)
    near_c, near_d = np.ldexp(c, -exponent), np.ldexp(d, -exponent)
    size = near_c * near_c + near_d * near_d
    large = np.maximum(np.abs(a), np.abs(b)) > _HUGE
    down = np.where(large, 2.0**-64, 2.0**64)
    up = np.where(large, 64, -64) - exponent
    first, second = a * down, b * down
    real = np.ldexp(_products(first, near_c, second, near_d) / size, up)
    imaginary = np.ldexp(_products(second, near_c, first, -near_d) / size, up)
    lost = np.isnan(real) & np.isnan(imaginary)
    if lost.any():
        parts = _recovered(*(part[lost] for part in (a, b, c, d)))
        real[lost], imaginary[lost] = parts
    return real, imaginary


def _products(a: Array, c: Array, b: Array, d: Array) -> Array:
    """Returns ac + bd, rounded nearly once even where the products cancel."""
    (first, error), (second, more) = two_product(a, c), two_product(b, d)
    total, rest = two_sum(first, second)
    exact = total + (rest + (error + more))
    return np.asarray(np.where(np.isfinite(exact), exact, a * c + b * d))


def _recovered(a: Array, b: Array, c: Array, d: Array) -> Parts:
    """Returns the quotients that are infinite or zero though the formula makes them NaN."""
    real, imaginary = np.full_like(a, np.nan), np.full_like(a, np.nan)
    zero = (c == 0.0) & (d == 0.0) & ~(np.isnan(a) & np.isnan(b))
    infinite = (np.isinf(a) | np.isinf(b)) & np.isfinite(c) & np.isfinite(d) & ~zero
    vanishing = (np.isinf(c) | np.isinf(d)) & np.isfinite(a) & np.isfinite(b)
    endless = np.copysign(np.inf, c)
    for where, factor, (e, f, g, h) in (
        (zero, endless, (a, b, np.ones_like(a), np.zeros_like(a))),
        (infinite, np.full_like(a, np.inf), (_boxed(a), _boxed(b), c, d)),
        (vanishing, np.zeros_like(a), (a, b, _boxed(c), _boxed(d))),
    ):
        real[where] = (factor * _kept(e, g, f, h, where))[where]
        imaginary[where] = (factor * _kept(f, g, e, -h, where))[where]
    return real, imaginary


def _kept(a: Array, c: Array, b: Array, d: Array, where: Array) -> Array:
    # A product by an exact zero drops out, so that 0 * inf does not hide the other one.
    first = np.where(c == 0.0, 0.0, a * c)
    second = np.where(d == 0.0, 0.0, b * d)
    return np.where(where, np.where(d == 0.0, first, first + second), 0.0)


def _boxed(part: Array) -> Array:
    """Returns 1 for an infinity and 0 for anything else, with its sign."""
    return np.copysign(np.where(np.isinf(part), 1.0, 0.0), part)


def _scale(x: Array, y: Array) -> Array:
    """Returns an even binary exponent of the larger part; 0 where there is none."""
    large = np.maximum(np.abs(x), np.abs(y))
    return np.where(np.isfinite(large), np.frexp(large)[1] & ~1, 0).astype(np.int32)


def sqrt(x: Array, y: Array) -> Parts:
    """Returns the root whose real part is not negative; specials as in C99, Annex G.6.4.2."""
    return _sqrt(x, y, *_leveled(x, y))


def _leveled(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Returns an even binary exponent e, x / 2**e, and |z| / 2**e."""
    exponent = _scale(x, y)
    near_x = np.ldexp(x, -exponent)
    return exponent, near_x, hypot(near_x, np.ldexp(y, -exponent))


def _sqrt(x: Array, y: Array, exponent: Array, near_x: Array, size: Array) -> Parts:
    root = np.sqrt(0.5 * (np.abs(near_x) + size))
    root = np.ldexp(root, exponent >> 1)
    # The smaller part follows from 2 Re Im = y, of which no digit cancels.
    other = np.where(root == 0.0, 0.0, np.abs(y) / (2.0 * root))
    forward = x >= 0.0
    real = np.where(forward, root, other)
    imaginary = np.copysign(np.where(forward, other, root), y)
    undefined = np.isnan(x)
    real, imaginary = np.where(undefined, np.nan, real), np.where(undefined, np.nan, imaginary)
    endless = np.isinf(y)
    return np.where(endless, np.inf, real), np.where(endless, y, imaginary)


def rsqrt(x: Array, y: Array) -> Parts:
    """Returns 1 / sqrt(z), that is the conjugate of sqrt(z) over |z|; inf + NaN i at zero."""
    exponent, near_x, size = _leveled(x, y)
    real, imaginary = _sqrt(x, y, exponent, near_x, size)
    real, imaginary = np.ldexp(real / size, -exponent), np.ldexp(-imaginary / size, -exponent)
    real = np.where(size == 0.0, np.inf, real)
    endless = np.isinf(x) | np.isinf(y)
    return np.where(endless, 0.0, real), np.where(endless, np.copysign(0.0, -y), imaginary)


def cbrt(x: Array, y: Array) -> Parts:
    """Returns the principal cube root, that of a third of the argument."""
    exponent = 3 * (_scale(x, y) // 3)
    size = hypot(np.ldexp(x, -exponent), np.ldexp(y, -exponent))
    root, angle = np.ldexp(mapped(CBRT, size), exponent // 3), atan2(y, x) / 3.0
    # The angle may be too small a number where the imaginary part is not.
    flat = (x > 0.0) & (np.abs(y) < 2.0**-60 * x)
    return root * maps.cos(angle), np.where(flat, y / (3.0 * root * root), root * maps.sin(angle))


def sign(x: Array, y: Array) -> Parts:
    """Returns z / |z|; a zero stays."""
    exponent = _scale(x, y)
    near_x, near_y = np.ldexp(x, -exponent), np.ldexp(y, -exponent)
    size = hypot(near_x, near_y)
    zero = size == 0.0
    undefined = np.isnan(x) | np.isnan(y)
    real, imaginary = np.where(zero, x, near_x / size), np.where(zero, y, near_y / size)
    return np.where(undefined, np.nan, real), np.where(undefined, np.nan, imaginary)


def negate(x: Array, y: Array) -> Parts:
    """Returns the number with both signs turned."""
    return -x, -y


def square(x: Array, y: Array) -> Parts:
    """Returns (x - y)(x + y) + 2ixy, in which nothing overflows that the result does not.

    Its real part is that of a real or imaginary infinity.
    """
    real, imaginary = (x - y) * (x + y), x * y
    level = np.isfinite(x) & (np.abs(x) == np.abs(y))
    return np.where(level, 0.0, real), imaginary + imaginary


def product(left: Array, right: Array) -> Array:
    """Returns `left * right`; of complex numbers (ac - bd) + i(ad + bc), each part in f64."""
    if np.iscomplexobj(left):
        return binary(multiply, left, right)
    return np.asarray(np.multiply(left, right))


def total(terms: Array) -> Array:
    """Returns the sums along the first axis, each the oracle's tree of halves, by parts."""
    if not np.iscomplexobj(terms):
        return reduction.sum(terms, (0,))
    result = np.empty(terms.shape[1:], terms.dtype)
    result.real = reduction.sum(np.ascontiguousarray(terms.real), (0,))
    result.imag = reduction.sum(np.ascontiguousarray(terms.imag), (0,))
    return result


def quotient(left: Array, right: Array) -> Array:
    """Returns `left / right`; of two complex numbers that of `divide`."""
    if np.iscomplexobj(right):
        return binary(divide, left, right)
    if np.iscomplexobj(left):
        return complex_of(np.asarray(left.real / right), left.imag / right, left.dtype)
    return np.asarray(np.divide(left, right))
