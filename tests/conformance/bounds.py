"""The error bounds that the docstrings of the float64 kernels state, each as a measurable claim."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import gmpy2
import numpy as np
import numpy.typing as npt

from tests.conformance import margins
from tests.conformance.margins import Bound, Enclosed
from tests.conformance.mpfr import MAPS
from topos.payload.kernels import (
    circular,
    double_double,
    expansion,
    exponential,
    logarithm,
    maps,
    power_wide,
)

__all__ = ["APPROXIMATIONS", "BOUNDS"]

Array = npt.NDArray[Any]
Claim = Callable[..., Enclosed]

UNIT: Final = 2.0**-53


def within(error: float, function: Callable[..., Any], *last: Any) -> Claim:
    """Returns the claim that a number, or a pair, is within `error` of it relatively."""

    def claim(*arguments: Array) -> Enclosed:
        result = function(*arguments, *last)
        head, tail = result if isinstance(result, tuple) else (result, np.zeros(1))
        return Enclosed(head, tail, np.abs(head) * error, np.zeros(1, np.int64))

    return claim


def enclosing(function: Callable[..., Any], *last: Any) -> Claim:
    """Returns the claim of an enclosure, alone or with the power of two that it stands by."""

    def claim(*arguments: Array) -> Enclosed:
        result = function(*arguments, *last)
        enclosure, power = result if len(result) == 2 else (result, np.zeros(1, np.int64))
        head, tail, error = enclosure
        return Enclosed(head, tail, error, power)

    return claim


def scaled(error: float, function: Callable[..., Any]) -> Claim:
    """Returns the claim of a relative error of head + tail, by a power of two."""

    def claim(*arguments: Array) -> Enclosed:
        result = function(*arguments)
        (head, tail), power = result if len(result) == 2 else (result[:2], result[2])
        return Enclosed(head, tail, np.abs(head) * error, power)

    return claim


def reduced(values: Array) -> Enclosed:
    """Returns the claim of the circle's reduction: 2**-162 absolutely and u*u of the rest."""
    _, (head, tail) = circular.reduced(np.abs(values), circular.LIMBS)
    return Enclosed(head, tail, np.abs(head) * UNIT**2 + 2.0**-162, np.zeros(1, np.int64))


def fraction_of_step(value: Any) -> Any:
    """Returns x 256/pi less the integer nearest to it."""
    steps = abs(value) * 256 / gmpy2.const_pi()
    return steps - gmpy2.rint(steps)


def paired(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of two pairs as one of four columns."""
    return lambda a, b, c, d: function((a, b), (c, d))


def times(a: Array, b: Array, c: Array, d: Array) -> Any:
    """Returns a pair times a number; the last column, a tail, has no part in it."""
    return double_double.pair_times((a, b), c)


def single(draw: margins.Draw) -> margins.Draw:
    """Returns a draw of normal float32 numbers, as float64."""

    def drawn(generator: np.random.Generator, count: int) -> tuple[Array, ...]:
        parts = np.array(draw(generator, count))
        kept = ((np.abs(parts) > 2.0**-126) & (np.abs(parts) < 2.0**127)).all(axis=0)
        return tuple(parts[:, kept].astype(np.float32).astype(np.float64))

    return drawn


TWO, FOUR, ONE = margins.two, margins.pairs, margins.about_one
CIRCLE, FAR = margins.circle, margins.far_circle
EXP_ERROR: Final = exponential.EXPONENTIAL_ERROR
PAIR_ERROR: Final = exponential.REFINED_EXPONENTIAL_ERROR
LN_ERROR: Final = logarithm.REFINED_LOGARITHM_ERROR
LN_PAIR: Final = within(LN_ERROR, logarithm.logarithm_pair, 0)
POSITIVE: Final = single(margins.about_one)
EXPANDED: Final = expansion.expanded
SMALL: Final = margins.between(-(2.0**-6), 2.0**-6)
NORMAL: Final = margins.between(-700.0, 700.0)


def single_powers(generator: np.random.Generator, count: int) -> tuple[Array, ...]:
    """Draws bases and exponents that are float32 numbers."""
    (bases,) = POSITIVE(generator, count)
    _, exponents = margins.powers(generator, bases)
    return bases, exponents.astype(np.float32).astype(np.float64)


def moved_logarithm(value: Any, rest: Any) -> Any:
    """Returns the logarithm of a number and its rest."""
    return gmpy2.log(value + rest)


BOUNDS: Final = (
    Bound("two_sum", "exact", TWO, within(0.0, double_double.two_sum), operator.add),
    Bound("fast_two_sum", "exact", TWO, within(0.0, double_double.fast_two_sum), operator.add),
    Bound("two_product", "exact", TWO, within(0.0, double_double.two_product), operator.mul),
    Bound(
        "quotient",
        "2**-100",
        FOUR,
        within(2.0**-100, double_double.quotient),
        lambda a, b, c, d: (a + b) / (c + d),
    ),
    Bound(
        "pair_sum",
        "3.1 u*u",
        FOUR,
        within(3.1 * UNIT**2, paired(double_double.pair_sum)),
        lambda a, b, c, d: (a + b) + (c + d),
    ),
    Bound(
        "pair_product",
        "5 u*u",
        FOUR,
        within(5 * UNIT**2, paired(double_double.pair_product)),
        lambda a, b, c, d: (a + b) * (c + d),
    ),
    Bound("pair_times", "3 u*u", FOUR, within(3 * UNIT**2, times), lambda a, b, c, d: (a + b) * c),
    Bound(
        "pair_quotient",
        "2**-100",
        FOUR,
        within(2.0**-100, paired(double_double.pair_quotient)),
        lambda a, b, c, d: (a + b) / (c + d),
    ),
    Bound(
        "exponential_parts",
        "2**-64",
        NORMAL,
        scaled(EXP_ERROR, exponential.exponential_parts),
        gmpy2.exp,
    ),
    Bound(
        "small_expm1",
        "x (x*x 2**-52 + 2**-70)",
        SMALL,
        enclosing(exponential.small_expm1),
        gmpy2.expm1,
    ),
    Bound(
        "logarithm_parts",
        "r*r 2**-51 + 2**-68",
        ONE,
        enclosing(logarithm.logarithm_parts),
        gmpy2.log,
    ),
    Bound(
        "logarithm_parts with a rest",
        "r*r 2**-51 + 2**-68",
        margins.moved,
        enclosing(logarithm.logarithm_parts),
        moved_logarithm,
    ),
    Bound("circular, sine", "r*r 2**-50", CIRCLE, enclosing(circular.circular, 0), gmpy2.sin),
    Bound("circular, cosine", "r*r 2**-50", CIRCLE, enclosing(circular.circular, 128), gmpy2.cos),
    Bound("far_circular, sine", "r*r 2**-50", FAR, enclosing(circular.far_circular, 0), gmpy2.sin),
    Bound(
        "far_circular, cosine",
        "r*r 2**-50",
        FAR,
        enclosing(circular.far_circular, 128),
        gmpy2.cos,
    ),
    Bound(
        "expanded, tanh",
        "h*h 2**-49 + 2**-68",
        margins.between(0.0, 19.9),
        enclosing(EXPANDED, expansion.tanh_expansions()),
        gmpy2.tanh,
    ),
    Bound(
        "expanded, erf",
        "h*h 2**-49 + 2**-68",
        margins.between(0.0, 5.99),
        enclosing(EXPANDED, expansion.erf_expansions()),
        gmpy2.erf,
    ),
    Bound(
        "enclosed_power",
        "2**-63.9 + y 2**-68",
        margins.raised,
        enclosing(power_wide.enclosed_power),
        operator.pow,
    ),
    Bound("reduced", "2**-162", FAR, reduced, fraction_of_step, 1500),
    Bound(
        "exponential_pair",
        "2**-102",
        NORMAL,
        scaled(PAIR_ERROR, exponential.exponential_pair),
        gmpy2.exp,
    ),
    Bound(
        "expm1_pair",
        "2**-102 + 2**-104",
        margins.between(-50.0, 700.0),
        enclosing(exponential.expm1_pair),
        gmpy2.expm1,
    ),
    Bound("logarithm_pair", "2**-100", margins.moved, LN_PAIR, moved_logarithm),
    Bound(
        "refined_circular, sine",
        "2**-101 r",
        CIRCLE,
        enclosing(circular.refined_circular, 0),
        gmpy2.sin,
    ),
    Bound(
        "refined_circular, cosine",
        "2**-101 r",
        FAR,
        enclosing(circular.refined_circular, 128),
        gmpy2.cos,
    ),
    Bound(
        "refined_expansion, erf",
        "2**-100",
        margins.between(0.0, 5.99),
        enclosing(expansion.refined_expansion),
        gmpy2.erf,
    ),
    Bound(
        "refined_enclosed_power",
        "2**-101 + 2**-99 y ln x",
        margins.raised,
        enclosing(power_wide.refined_enclosed_power, 0),
        operator.pow,
    ),
)

SINGLE: Final = single(margins.between(-80.0, 80.0))
RIVALS: Final[dict[str, tuple[margins.Draw, Callable[..., Array]]]] = {
    "exp": (SINGLE, np.exp),
    "expm1": (SINGLE, np.expm1),
    "ln": (POSITIVE, np.log),
    "log1p": (single(margins.between(-0.99, 80.0)), np.log1p),
    "tanh": (SINGLE, np.tanh),
    "logistic": (SINGLE, maps.approximate_logistic),
    "sin": (single(margins.circle), circular.approximate_sin),
    "cos": (single(margins.circle), circular.approximate_cos),
    "erf": (SINGLE, expansion.approximate_erf),
    "rsqrt": (POSITIVE, maps.approximate_rsqrt),
}
# What the kernels of float32 trust numpy's float64 functions with, and their own.
APPROXIMATIONS: Final = (
    *(
        Bound(f"float64 {name}", "2**-46", draw, within(2.0**-46, function), MAPS[name])
        for name, (draw, function) in RIVALS.items()
    ),
    Bound(
        "float64 power",
        "2**-44",
        single_powers,
        within(2.0**-44, np.power),
        operator.pow,
    ),
)
