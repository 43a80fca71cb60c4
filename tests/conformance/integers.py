"""The units that the integer kernels promise to stay within, measured with MPFR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import gmpy2
import numpy as np

from tests.conformance import margins
from tests.conformance.mpfr import MAPS
from topos.payload.kernels import exact, exact_series

__all__ = ["UNITS", "Units", "units_used"]

PLACES: Final = 144


class Units(NamedTuple):
    """A promise: the kernel, its units, arguments to try, and the distance at one of them."""

    kernel: str
    promised: float
    draw: margins.Draw
    distance: Callable[[float], Any]


def units_used(units: Units, count: int, seed: int) -> float:
    """Returns the largest distance from the exact result, as a share of what is promised."""
    (values,) = units.draw(np.random.default_rng(seed), count)
    with gmpy2.context(precision=1500):
        return max(float(units.distance(value) / units.promised) for value in values.tolist())


def enclosed(each: exact.ExactMap) -> Callable[[float], Any]:
    """Returns the distance of an exact map's enclosure, in units of its last place."""

    def distance(value: float) -> Any:
        value = abs(value) if each.odd else value
        integer, exponent = each.enclose(*exact.dyadic(value), PLACES)
        return abs(MAPS[each.name](gmpy2.mpfr(value)) / gmpy2.exp2(exponent) - integer)

    return distance


def fixed(function: Callable[[int, int], int], truth: Callable[[Any], Any]) -> Any:
    """Returns the distance of a function of fixed-point numbers."""

    def distance(value: float) -> Any:
        argument = int(gmpy2.mpfr(value) * gmpy2.exp2(PLACES))
        wanted = truth(argument / gmpy2.exp2(PLACES)) * gmpy2.exp2(PLACES)
        return abs(wanted - function(argument, PLACES))

    return distance


def exponential(value: float) -> Any:
    """Returns the distance of the exponential, whose argument has places of its own."""
    argument = int(gmpy2.mpfr(value) * gmpy2.exp2(PLACES + 24))
    scaled, power = exact_series.exponential(argument, PLACES)
    wanted = gmpy2.exp(argument / gmpy2.exp2(PLACES + 24)) * gmpy2.exp2(PLACES - power)
    return abs(wanted - scaled)


def constant(function: Callable[[int], int], truth: Callable[[], Any]) -> Callable[[float], Any]:
    """Returns the distance of a constant, whose places are the argument."""
    return lambda value: abs(truth() * gmpy2.exp2(int(value)) - function(int(value)))


DRAWS: Final = {
    "exp": margins.between(-700.0, 700.0),
    "expm1": margins.between(-49.0, 700.0),
    "ln": margins.about_one,
    "log1p": margins.between(-0.99, 80.0),
    "tanh": margins.between(-21.0, 21.0),
    "logistic": margins.between(-700.0, 49.0),
    "sin": margins.circle,
    "cos": margins.far_circle,
    "erf": margins.between(-5.9, 5.9),
    "rsqrt": margins.about_one,
}
EXACT: Final = (
    exact.EXP,
    exact.EXPM1,
    exact.LN,
    exact.LOG1P,
    exact.TANH,
    exact.LOGISTIC,
    exact.SIN,
    exact.COS,
    exact.ERF,
    exact.RSQRT,
)
UNITS: Final = (
    *(Units(f"exact {each.name}", 2.0**16, DRAWS[each.name], enclosed(each)) for each in EXACT),
    Units("exponential", 2.0, margins.between(-4000.0, 4000.0), exponential),
    Units("logarithm", 2.0**4, margins.between(0.5, 2.0), fixed(exact_series.logarithm, gmpy2.log)),
    Units("sine", 2.0**6, margins.between(-1.0, 1.0), fixed(exact_series.sine, gmpy2.sin)),
    Units("cosine", 2.0**6, margins.between(-1.0, 1.0), fixed(exact_series.cosine, gmpy2.cos)),
    Units(
        "natural_log_of_two",
        1.0,
        margins.between(100.0, 900.0),
        constant(exact_series.natural_log_of_two, gmpy2.const_log2),
    ),
    Units(
        "half_pi",
        1.0,
        margins.between(100.0, 900.0),
        constant(exact_series.half_pi, lambda: gmpy2.const_pi() / 2),
    ),
)
