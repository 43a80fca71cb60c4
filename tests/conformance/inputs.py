"""Arguments of the maps and of power, stratified over exponents, edges and hard cases.

Every draw has a seed and starts from integers and powers of two: one numpy draws the same
numbers on every machine.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tests.conformance.hard_cases import HARD_CASES

__all__ = ["MAPS", "arguments", "patterns", "power_pairs", "specials"]

Array = npt.NDArray[Any]


class _Shape(NamedTuple):
    """A format: its significant bits, and the least and the greatest exponent of a number."""

    precision: int
    least: int
    greatest: int


_SHAPES: Final = {
    np.dtype(np.float64): _Shape(53, -1074, 1023),
    np.dtype(np.float32): _Shape(24, -149, 127),
    np.dtype(np.float16): _Shape(11, -24, 15),
    np.dtype(ml_dtypes.bfloat16): _Shape(8, -133, 127),
}


class _Strata(NamedTuple):
    """Where a map does more than to return its argument or a limit.

    Arguments have exponents from -`tiny` times the precision to `large`, and cluster about
    `centers`. Each exponent of the format is met too. A map of positive numbers sees few others.
    """

    tiny: float
    large: int
    centers: tuple[float, ...]
    positive: bool = False


MAPS: Final = {
    "exp": _Strata(1.2, 9, (1.0, -87.34, -103.97, 88.72, -708.4, -745.13, 709.78)),
    "expm1": _Strata(1.2, 9, (1.0, -17.33, -37.43, 88.72, 709.78)),
    "ln": _Strata(1.2, 60, (1.0, 0.5, 2.0, math.e), positive=True),
    "log1p": _Strata(1.2, 60, (-1.0, -0.5, 1.0, math.e - 1)),
    "tanh": _Strata(0.7, 5, (1.0, 9.01, 19.06)),
    "logistic": _Strata(1.2, 9, (1.0, 16.64, 36.74, -88.72, -103.97, -708.4, -745.13)),
    "sin": _Strata(0.7, 17, tuple(k * math.pi / 2 for k in (1, 2, 3, 4, 355, 1000))),
    "cos": _Strata(0.7, 17, tuple(k * math.pi / 2 for k in (1, 2, 3, 4, 355, 1001))),
    "erf": _Strata(1.2, 2, (0.5, 1.0, 3.92, 5.92)),
    "rsqrt": _Strata(1.2, 60, (1.0, 4.0), positive=True),
    "sqrt": _Strata(1.2, 60, (1.0, 4.0), positive=True),
}


def arguments(name: str, dtype: np.dtype[Any], count: int, seed: int) -> Array:
    """Returns `count` arguments of the map `name`, edges and hard cases first."""
    generator, shape, strata = np.random.default_rng(seed), _SHAPES[dtype], MAPS[name]
    tenth, near = count // 10, count // 4
    lowest = -int(strata.tiny * shape.precision)
    wide = [
        *_edges(shape, strata),
        *HARD_CASES.get(name, ()),
        *_near(generator, shape, strata.centers, near),
        *_numbers(generator, shape.least, shape.greatest, tenth),
    ]
    rest = count - len(wide) - tenth - specials(dtype).size
    body = _numbers(generator, lowest, min(strata.large, shape.greatest), rest)
    drawn = np.concatenate([wide, body])
    if strata.positive:
        drawn[::2] = np.abs(drawn[::2])
        drawn[1::4] = np.abs(drawn[1::4])
    with np.errstate(all="ignore"):
        drawn = drawn.astype(dtype)
    return np.concatenate([specials(dtype), drawn, patterns(generator, dtype, tenth)])


def patterns(generator: np.random.Generator, dtype: np.dtype[Any], count: int) -> Array:
    """Returns numbers of any bits whatever, NaNs among them."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    drawn: Array = generator.integers(0, 1 << 8 * dtype.itemsize, count, unsigned).view(dtype)
    return drawn


def specials(dtype: np.dtype[Any]) -> Array:
    """Returns zeros, ends of the subnormal and the normal range, infinities, NaNs, both signs."""
    sign, one_ulp = 1 << (8 * dtype.itemsize - 1), 1 << (_SHAPES[dtype].precision - 1)
    infinity = sign - one_ulp
    ends = [0, 1, 2, one_ulp - 1, one_ulp, one_ulp + 1, infinity - 1, infinity, infinity + 1]
    quiet = infinity + one_ulp // 2
    positive = [*ends, quiet, quiet + 1]
    both = [*positive, *(sign | pattern for pattern in positive)]
    return np.array(both, f"u{dtype.itemsize}").view(dtype)


def _numbers(generator: np.random.Generator, low: int, high: int, count: int) -> Array:
    """Returns numbers of either sign with every exponent alike, and 53 random bits."""
    integers = generator.integers(1 << 52, 1 << 53, count).astype(np.float64)
    signs = 1.0 - 2.0 * generator.integers(0, 2, count)
    return signs * np.ldexp(integers, generator.integers(low, high + 1, count) - 52)


def _near(
    generator: np.random.Generator, shape: _Shape, centers: tuple[float, ...], count: int
) -> Array:
    """Returns numbers about the centers, every order of the distance alike, and their negatives."""
    chosen = np.array(centers)[generator.integers(0, len(centers), count)]
    offsets = _numbers(generator, -shape.precision - 2, -2, count)
    signs = 1.0 - 2.0 * (generator.integers(0, 8, count) == 0)
    near: Array = signs * chosen * (1.0 + offsets)
    return near


def _edges(shape: _Shape, strata: _Strata) -> list[float]:
    """Returns the powers of two of the format with small multiples and their neighbours.

    Where a map is c + x + ... these are its almost exact midpoints: half a unit of c, plus
    next to nothing.
    """
    near = range(-2 * shape.precision, 12)
    numbers = [math.ldexp(factor, power) for power in near for factor in (1, 3, 5, 7)]
    powers = [math.ldexp(1.0, power) for power in range(shape.least, shape.greatest + 1, 3)]
    unit = math.ldexp(1.0, 1 - shape.precision)
    shifted = [number * (1 + step * unit) for number in numbers for step in (-0.5, 0.0, 1.0, 2.0)]
    # About 1 the same holds of a logarithm, and of a root.
    beside = [1.0 + number for number in shifted if abs(number) < 0.5]
    both = [*shifted, *powers, *beside, *strata.centers]
    return [*both, *(-number for number in both)]


def power_pairs(dtype: np.dtype[Any], count: int, seed: int) -> tuple[Array, Array]:
    """Returns about `count` bases and exponents, exact and halfway cases among them."""
    generator, shape = np.random.default_rng(seed), _SHAPES[dtype]
    each = count // 8
    top = min(8, shape.greatest)
    near_one = 1.0 + _numbers(generator, -shape.precision, -2, each)
    small = np.rint(_numbers(generator, 0, 4, each))
    pairs = [
        (np.abs(_numbers(generator, -8, 8, each)), _numbers(generator, -6, 5, each)),
        (np.abs(_numbers(generator, -2, 1, each)), _numbers(generator, -2, 11, each)),
        (near_one, _numbers(generator, -2, shape.precision + 8, each)),
        (np.abs(_numbers(generator, shape.least, shape.greatest, each)), near_one),
        (np.abs(_numbers(generator, shape.least, shape.greatest, each)), _halves(generator, each)),
        (np.rint(_numbers(generator, 0, top, each)), small),
        _halfway(generator, shape, each),
    ]
    with np.errstate(all="ignore"):
        bases, exponents = (np.concatenate(part).astype(dtype) for part in zip(*pairs, strict=True))
    edges = [grid.reshape(-1) for grid in np.meshgrid(specials(dtype), specials(dtype))]
    return (
        np.concatenate([edges[0], bases, patterns(generator, dtype, each)]),
        np.concatenate([edges[1], exponents, patterns(generator, dtype, each)]),
    )


def _halves(generator: np.random.Generator, count: int) -> Array:
    """Returns small multiples of 1/16, tiny numbers among them."""
    multiples = generator.integers(-40, 41, count) / 16.0
    return np.where(generator.integers(0, 8, count) == 0, multiples * 2.0**-40, multiples)


def _halfway(generator: np.random.Generator, shape: _Shape, count: int) -> tuple[Array, Array]:
    """Returns powers that are numbers of the format or midpoints between two of them.

    The power of an odd integer that takes one bit more than the format holds is a midpoint; one
    that fits has an exact root.
    """
    degree = generator.integers(2, 6, count)
    rooted = (generator.integers(0, 2, count) == 1) & (degree % 2 == 0)
    length = np.where(rooted, shape.precision // degree, -(-(shape.precision + 1) // degree))
    odd = 2.0 * (generator.integers(0, 1 << 62, count) >> (63 - length)) + 1.0
    scaled = np.ldexp(odd, generator.integers(-3, 4, count))
    return np.where(rooted, scaled**degree, scaled), np.where(rooted, 1.0 / degree, degree)
