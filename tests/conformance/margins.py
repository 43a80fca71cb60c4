"""The margin of a stated error bound: how much of it a kernel uses, measured with MPFR."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import gmpy2
import numpy as np
import numpy.typing as npt

__all__ = [
    "Bound",
    "Enclosed",
    "Margin",
    "about_one",
    "between",
    "circle",
    "far_circle",
    "measured",
    "moved",
    "pairs",
    "powers",
    "raised",
    "two",
]

Array = npt.NDArray[Any]
Arguments = tuple[Array, ...]
Draw = Callable[[np.random.Generator, int], Arguments]


class Enclosed(NamedTuple):
    """A claim for each lane: truth / 2**power lies within `error` of head + tail."""

    head: Array
    tail: Array
    error: Array
    power: Array


class Bound(NamedTuple):
    """A stated bound: the kernel, the words, arguments to try, the enclosure, and the truth."""

    kernel: str
    claim: str
    draw: Draw
    enclose: Callable[..., Enclosed]
    truth: Callable[..., Any]
    precision: int = 500


class Margin(NamedTuple):
    """What was measured: the largest error by its bound, and the largest relative error."""

    used: float
    relative: float


def measured(bound: Bound, count: int, seed: int) -> Margin:
    """Returns the margin of `bound` over about `count` arguments."""
    arguments = bound.draw(np.random.default_rng(seed), count)
    with np.errstate(all="ignore"):
        found = bound.enclose(*arguments)
    columns = [np.broadcast_to(column, found.head.shape).tolist() for column in found]
    used = relative = 0.0
    with gmpy2.context(precision=bound.precision, emax=2**40, emin=-(2**40)):
        numbers = zip(*(argument.tolist() for argument in arguments), strict=True)
        for given, head, tail, error, power in zip(numbers, *columns, strict=True):
            exact = bound.truth(*map(gmpy2.mpfr, given)) / gmpy2.exp2(power)
            distance = abs((exact - head) - tail)
            if distance:
                used = max(used, float(distance / error) if error else math.inf)
                relative = max(relative, float(distance / abs(exact)) if exact else math.inf)
    return Margin(used, relative)


def spread(generator: np.random.Generator, low: int, high: int, count: int) -> Array:
    """Returns numbers of either sign with every exponent from `low` to `high` alike."""
    sizes = np.ldexp(generator.uniform(0.5, 1.0, count), generator.integers(low, high, count))
    signed: Array = sizes * generator.choice([-1.0, 1.0], count)
    return signed


def between(low: float, high: float) -> Draw:
    """Returns a draw of arguments from an interval, half of them of any exponent within it."""
    top = max(abs(low), abs(high))

    def drawn(generator: np.random.Generator, count: int) -> Arguments:
        even = generator.uniform(low, high, count // 2)
        sizes = spread(generator, -27, int(math.log2(top)) + 1, count // 2)
        return (np.concatenate([even, sizes[(sizes >= low) & (sizes <= high)]]),)

    return drawn


def about_one(generator: np.random.Generator, count: int) -> Arguments:
    """Draws positive numbers: near 1, about it, and of every exponent."""
    near = 1.0 + spread(generator, -52, -1, count // 2)
    wide = np.abs(spread(generator, -1000, 1000, count // 4))
    return (np.concatenate([near, generator.uniform(0.3, 4.0, count // 4), wide]),)


def moved(generator: np.random.Generator, count: int) -> Arguments:
    """Draws numbers with rests of at most half a unit in their last place."""
    (values,) = about_one(generator, count)
    return values, values * generator.uniform(-0.5, 0.5, values.size) * 2.0**-53


def circle(generator: np.random.Generator, count: int) -> Arguments:
    """Draws angles up to 2**18, many of them next to a multiple of pi/2."""
    multiples = np.arange(1, count // 3) * (math.pi / 2)
    near = multiples * (1.0 + spread(generator, -52, -20, multiples.size))
    return (np.concatenate([near, multiples, spread(generator, -27, 18, count // 3)]),)


def far_circle(generator: np.random.Generator, count: int) -> Arguments:
    """Draws angles of every exponent above 2**18."""
    return (spread(generator, 19, 1023, count),)


def raised(generator: np.random.Generator, count: int) -> Arguments:
    """Draws pairs whose power is a normal number."""
    return powers(generator, *about_one(generator, count))


def powers(generator: np.random.Generator, bases: Array) -> Arguments:
    """Returns the bases with exponents that bring their powers up to e**700 and down to e**-700."""
    logarithms = np.maximum(np.abs(np.log(bases)), 2.0**-53)
    return bases, generator.uniform(-1.0, 1.0, bases.size) * (700.0 / logarithms)


def pairs(generator: np.random.Generator, count: int) -> Arguments:
    """Draws two double-double numbers as four columns, some of opposite signs and like sizes."""
    heads = spread(generator, -30, 30, 2 * count).reshape(2, count)
    opposite = 1.0 + spread(generator, -52, -1, heads[1, ::4].size)
    heads[1, ::4] = -heads[0, ::4] * opposite
    tails = heads * generator.uniform(-1.0, 1.0, heads.shape) * 2.0**-54
    return heads[0], tails[0], heads[1], tails[1]


def two(generator: np.random.Generator, count: int) -> Arguments:
    """Draws two numbers, the first the larger."""
    first, _, second, _ = pairs(generator, count)
    larger = np.where(np.abs(first) >= np.abs(second), first, second)
    return larger, np.where(larger == first, second, first)
