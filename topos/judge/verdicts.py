"""Verdicts: what a runtime's number beside samples of the oracle says of the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from topos.judge.samples.formats import is_floating, limits_of
from topos.runtimes.interpreter.program import Array

# Distances in spreads: up to the one a number is rounding, from the other on it is wrong.
NEAR: Final = 5.0
SUSPECT: Final = 10.0
# What is always allowed: units in the last place of the oracle's number.
FLOOR: Final = 2.0
# A spread of this share of the number leaves it no two digits.
ILL: Final = 1e-2
# What a spread of nothing is taken for, so that no distance is divided by zero.
TINY: Final = 5e-324


class Verdict(IntEnum):
    """What is said of one element, from the best to the worst.

    `EQUAL`: the oracle's bits, any NaN for a NaN, either zero for a zero. `ROUNDING`: within 5
    spreads of the samples, and 2 units in the last place. `DECISION`: a truth value, an integer
    or an infinity that some sample has too, since rounding turned a comparison. `RANGED`: as a
    sample that flushes subnormal numbers or saturates. `UNSPECIFIED`: it depends on what the
    specification leaves open. `SUSPECT`: 5 to 10 spreads away. `IMPRECISE`: farther, of one
    operation that ran alone, and within a thousandth. `WRONG`: farther, or where no sample differs
    from the oracle at all.
    """

    EQUAL = 0
    ROUNDING = 1
    DECISION = 2
    RANGED = 3
    UNSPECIFIED = 4
    SUSPECT = 5
    IMPRECISE = 6
    WRONG = 7

    def __str__(self) -> str:
        return _NAMES[self]


BAD: Final = frozenset({Verdict.SUSPECT, Verdict.IMPRECISE, Verdict.WRONG})
"""The verdicts that a sound runtime does not get."""

_NAMES: Final = {
    Verdict.EQUAL: "equal", Verdict.ROUNDING: "rounding",
    Verdict.DECISION: "decision within rounding", Verdict.RANGED: "range-sensitive",
    Verdict.UNSPECIFIED: "unspecified", Verdict.SUSPECT: "suspect",
    Verdict.IMPRECISE: "imprecise", Verdict.WRONG: "wrong",
}  # fmt: skip


class Judgement(NamedTuple):
    """The verdicts of one result, element by element.

    `distances` are in spreads, beyond the 2 units that are always allowed; `ill_conditioned` tells
    where the spread is a hundredth of the number or more, so that the element says nothing.
    """

    verdicts: Array
    distances: Array
    ill_conditioned: Array


class Explanation(NamedTuple):
    """Samples of a run that does more than round, and what an element near them is then called."""

    verdict: Verdict
    samples: Array
    near: float = NEAR


def judged(
    oracle: Array, result: Array, samples: Array, explanations: Sequence[Explanation] = ()
) -> Judgement:
    """Returns the verdicts on `result`, an array of the oracle's shape and dtype.

    `samples` has the samples along its first axis. What they leave suspect or wrong has the verdict
    of the first explanation that reaches it.
    """
    equal = (oracle == result) | (_is_nan(oracle) & _is_nan(result))
    verdicts, distances, ill = _explained(oracle, result, samples, NEAR)
    for verdict, more, near in explanations:
        again, _, _ = _explained(oracle, result, more, near)
        verdicts[(verdicts >= Verdict.SUSPECT) & (again < Verdict.SUSPECT)] = verdict
    verdicts[equal] = Verdict.EQUAL
    return Judgement(verdicts, np.where(equal, 0.0, distances), ill & ~equal)


def _explained(
    oracle: Array, result: Array, samples: Array, near: float
) -> tuple[Array, Array, Array]:
    """Returns the verdicts, the distances in spreads and what is ill-conditioned."""
    verdicts = np.full(oracle.shape, Verdict.WRONG, np.int8)
    if not is_floating(oracle.dtype):
        verdicts[(samples == result).any(axis=0)] = Verdict.DECISION
        return verdicts, np.full(oracle.shape, np.inf), np.zeros(oracle.shape, bool)
    distances, ill = _measured(oracle, result, samples)
    verdicts[distances <= SUSPECT] = Verdict.SUSPECT
    verdicts[_class_shown(oracle, result, samples)] = Verdict.DECISION
    verdicts[distances <= near] = Verdict.ROUNDING
    return verdicts, distances, ill


def _is_nan(array: Array) -> Array:
    return np.asarray(array != array)


def _parts(array: Array) -> Array:
    """Returns float64 numbers, the two parts of complex ones along a new last axis."""
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], -1).astype(np.float64)
    return array.astype(np.float64)


def _measured(oracle: Array, result: Array, samples: Array) -> tuple[Array, Array]:
    """Returns the result's distance in spreads of the samples, and what is ill-conditioned."""
    limits = limits_of(oracle.dtype)
    center, got, found = _parts(oracle), _parts(result), _parts(samples)
    with np.errstate(all="ignore"):
        off = np.where(np.isfinite(found) & np.isfinite(center), found - center, 0.0)
        spread = _mean_square(off)
        # Of complex numbers, an infinite part is the same or not, and the other is measured.
        gap = np.where(
            ~np.isfinite(center) & (_classes(got) == _classes(center)), 0.0, got - center
        )
        gap, size = np.abs(gap), np.where(np.isfinite(center), np.abs(center), 0.0)
        if oracle.dtype.kind == "c":
            spread, size, gap = (
                np.hypot(each[..., 0], each[..., 1]) for each in (spread, size, gap)
            )
        floor = FLOOR * np.maximum(limits.eps * size, limits.least)
        beyond = np.maximum(gap - floor, 0.0)
        distances = np.where(beyond > 0, beyond / np.maximum(spread, TINY), 0.0)
        distances = np.where(np.isfinite(gap), distances, np.inf)
        ill = (spread > ILL * size) & (spread > 0)
    return distances, ill


def _mean_square(off: Array) -> Array:
    """Returns the root mean square along the first axis, of numbers whose squares have no range."""
    largest = np.abs(off).max(axis=0)
    scaled = off / np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.sqrt((scaled**2).mean(axis=0)))


def _class_shown(oracle: Array, result: Array, samples: Array) -> Array:
    """Returns where a result is infinite or no number, unlike the oracle's, and a sample is too."""
    ours, theirs, shown = (_classes(_parts(each)) for each in (oracle, result, samples))
    unlike, found = ours != theirs, (shown == theirs).any(axis=0)
    if oracle.dtype.kind == "c":
        return np.asarray(unlike.any(-1) & found.all(-1))
    return np.asarray(unlike & found)


def _classes(numbers: Array) -> Array:
    """Returns 0 for finite numbers, their sign for infinities, and 2 for NaN."""
    classes = np.where(np.isinf(numbers), np.sign(numbers), 0.0)
    return np.where(np.isnan(numbers), 2.0, classes)
