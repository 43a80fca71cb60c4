"""Cells: what a runtime made of one operation, element and class of inputs, beside the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from topos.judge.bisection.finding import COARSE
from topos.judge.case import Case
from topos.judge.samples.formats import is_floating, limits_of, wide
from topos.judge.verdicts import Judgement, Verdict
from topos.runtimes._certificate import Cell, Outcome, rounded_units
from topos.runtimes.interpreter.program import Array
from topos.stablehlo import Module

Oracle = Callable[..., tuple[Array, ...]]
# Units in the last place that the judge allows any result; below them it is not asked.
SMALL: Final = 2.0
OUTCOMES: Final = {
    Verdict.EQUAL: Outcome.ROUNDED,
    Verdict.ROUNDING: Outcome.ROUNDED,
    Verdict.DECISION: Outcome.ROUNDED,
    Verdict.RANGED: Outcome.RANGED,
    Verdict.UNSPECIFIED: Outcome.UNSPECIFIED,
}


class Found(NamedTuple):
    """A cell, and where it is worst: which result, and the place of the element there."""

    cell: Cell
    result: int = 0
    place: tuple[int, ...] = ()


def measured(
    module: Module, oracle: Oracle, arguments: Sequence[Array], results: Sequence[Array], seed: int
) -> Found:
    """Returns what is to be said of a runtime's results of one operation for some arguments."""
    expected = oracle(*arguments)
    pairs = [*zip(expected, results, strict=True)]
    if all(_alike(*pair) for pair in pairs):
        return Found(Cell(Outcome.BITS))
    flushed, distances = _nearest(oracle, arguments, expected, results)
    units = _largest(distances)
    if units <= SMALL:
        return Found(Cell(Outcome.ROUNDED, units, flushed))
    # What is near by what the runtime flushes needs no samples.
    rest = [
        np.where(distance <= SMALL, ours, theirs)
        for distance, (ours, theirs) in zip(distances, pairs, strict=True)
    ]
    case = Case(module, arguments, seed=seed)
    judgements = case.judged(rest)
    worst = [Verdict(int(each.verdicts.max(initial=0))) for each in judgements]
    place = worst.index(max(worst))
    outcome = _outcome(worst[place], judgements[place], *pairs[place])
    return Found(Cell(outcome, units, flushed), place, _index(judgements[place]))


def _alike(ours: Array, theirs: Array) -> bool:
    """Returns whether two arrays have the same bits, but for those of NaNs."""
    if ours.tobytes() == theirs.tobytes():
        return True
    if not is_floating(ours.dtype):
        return False
    parts = zip(_parts(ours), _parts(theirs), strict=True)
    return all(_same_numbers(*each) for each in parts)


def _parts(array: Array) -> tuple[Array, ...]:
    return (array.real, array.imag) if array.dtype.kind == "c" else (array,)


def _same_numbers(ours: Array, theirs: Array) -> bool:
    left, right = wide(ours), wide(theirs)
    nan = np.isnan(left)
    same = (left == right) & (np.signbit(left) == np.signbit(right))
    return bool((same | (nan & np.isnan(right))).all())


def _nearest(
    oracle: Oracle, arguments: Sequence[Array], expected: Sequence[Array], results: Sequence[Array]
) -> tuple[str, list[Array]]:
    """Returns which subnormal numbers are zero in the results, and the distances from then on.

    They are measured to the nearest of what the oracle returns where operands, results or both are
    flushed, for each element; without a subnormal number there is nothing to flush.
    """
    plain = [_distances(*pair) for pair in zip(expected, results, strict=True)]
    if not any(map(_has_subnormal, (*arguments, *expected))):
        return "", plain
    given = oracle(*[_flushed(each) for each in arguments])
    others = {
        "in": given,
        "out": [_flushed(each) for each in expected],
        "in and out": [_flushed(each) for each in given],
    }
    measured = {"": plain} | {
        name: [_distances(*pair) for pair in zip(flushed, results, strict=True)]
        for name, flushed in others.items()
    }
    best = [np.minimum.reduce(each) for each in zip(*measured.values(), strict=True)]
    alike = [name for name, each in measured.items() if _largest(each) <= _largest(best)]
    return alike[0] if alike else "in and out", best


def _largest(distances: Sequence[Array]) -> float:
    return rounded_units(max((float(each.max(initial=0)) for each in distances), default=0.0))


def _has_subnormal(array: Array) -> bool:
    if not is_floating(array.dtype):
        return False
    normal = limits_of(array.dtype).normal
    return any(
        bool(((np.abs(part) < normal) & (part != 0)).any()) for part in map(wide, _parts(array))
    )


def _flushed(array: Array) -> Array:
    """Returns an array whose subnormal numbers are zero, with their sign."""
    if not is_floating(array.dtype):
        return array
    if array.dtype.kind == "c":
        whole = np.empty_like(array)
        whole.real, whole.imag = _flushed(array.real), _flushed(array.imag)
        return whole
    number = wide(array)
    zero = np.copysign(0.0, number)
    return np.asarray(
        np.where(np.abs(number) < limits_of(array.dtype).normal, zero, number)
    ).astype(array.dtype)


def _distances(ours: Array, theirs: Array) -> Array:
    """Returns the distance of each element in units in the last place of the oracle's.

    Complex numbers are measured in the plane, by the unit of the modulus. Unequal integers and
    truth values are infinitely far, as are a number and a NaN, and a finite and an infinite one.
    """
    if not is_floating(ours.dtype):
        return np.where(ours == theirs, 0.0, np.inf)
    limits = limits_of(ours.dtype)
    left, right = wide(ours), wide(theirs)
    with np.errstate(all="ignore"):
        gap, size = np.abs(left - right), np.abs(left)
        exponent = np.floor(np.log2(np.maximum(size, limits.normal)))
        unit = limits.eps * np.exp2(exponent)
        # From zero to the smallest normal number is one step, for what flushes all between.
        unit = np.where((size == 0) | (right == 0), limits.normal, unit)
        distance = gap / unit
    nan = np.isnan(left) & np.isnan(right)
    finite = np.isfinite(left) & np.isfinite(right)
    alike = (left == right) | nan
    return np.where(alike, 0.0, np.where(finite, distance, np.inf))


def _outcome(verdict: Verdict, judgement: Judgement, ours: Array, theirs: Array) -> Outcome:
    if verdict in OUTCOMES:
        return OUTCOMES[verdict]
    if not is_floating(ours.dtype):
        return Outcome.WRONG
    bad = judgement.verdicts >= Verdict.SUSPECT
    left, right = wide(ours)[bad], wide(theirs)[bad]
    with np.errstate(all="ignore"):
        near = np.abs(left - right) <= COARSE * np.abs(left)
    sure = judgement.verdicts == Verdict.WRONG
    return Outcome.WRONG if (~near & sure[bad]).any() else Outcome.IMPRECISE


def _index(judgement: Judgement) -> tuple[int, ...]:
    verdicts, distances = judgement.verdicts, judgement.distances
    farthest = np.where(verdicts == verdicts.max(initial=0), distances, -1.0)
    return tuple(int(each) for each in np.unravel_index(int(farthest.argmax()), verdicts.shape))
