"""Oracles: what the oracle says of the programs that an export writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from topos.bundle.envelope import demand_telling, envelopes
from topos.bundle.naming import Payloads
from topos.bundle.rows import Answers, demand_alike, demand_distinct, demand_independent, turned
from topos.bundle.sample import CALLS, Inputs, calls_of, pool_of, rows_of, taken
from topos.bundle.subject import Subject
from topos.errors import BundleError
from topos.reading import Tensor


class Oracle(NamedTuple):
    """One program to write: its subject, its rows, and what the oracle returned for some calls."""

    subject: Subject
    rows: int | None
    calls: Sequence[Inputs]
    answers: Sequence[Mapping[str, Tensor]]
    envelopes: Mapping[str, float]


def single_oracle(subject: Subject, given: Sequence[Payloads], seed: int) -> Oracle:
    """Returns what the oracle returns for the samples that are given, or to drawn ones."""
    calls = calls_of(subject, given, seed)
    answers = [subject.evaluated(inputs) for inputs in calls]
    return Oracle(subject, None, calls, answers, _telling(subject, calls, answers))


def batched_oracles(
    subjects: Sequence[Subject], given: Sequence[Payloads], seed: int
) -> list[Oracle]:
    """Returns the oracle of each program, the fewest rows first.

    Raises `BundleError` where it sees rows that do not leave each other alone, whose results
    differ in another slot, or for which two programs return different results.
    """
    ordered = sorted(subjects, key=rows_of)
    _demand_one_function(ordered)
    pool = pool_of(ordered, given, seed)
    if rows_of(ordered[-1]) > 1:
        demand_distinct(pool)
    known: Answers = {}
    allowed: Mapping[str, float] = {}
    oracles = []
    for subject in ordered:
        calls, answers = _answered(subject, pool, known, seed)
        # Rows are the same whatever stands beside them, and so is how they hand rounding on.
        allowed = allowed or _telling(subject, calls, answers)
        oracles.append(Oracle(subject, rows_of(subject), calls, answers, allowed))
    return oracles


def _answered(
    subject: Subject, pool: Inputs, known: Answers, seed: int
) -> tuple[list[Inputs], list[dict[str, Tensor]]]:
    """Returns the calls of one program with their results, after its rows were tried."""
    rows, count = rows_of(subject), next(iter(pool.values())).shape[0]
    starts = range(0, min(CALLS * rows, max(count, 1)), rows)
    places = [[(start + row) % count for row in range(rows)] for start in starts]
    calls = [taken(pool, each) for each in places]
    answers = [subject.evaluated(inputs) for inputs in calls]
    demand_independent(subject, pool, places[0], answers[0], seed)
    slots: Answers = {}
    elsewhere = [(each, subject.evaluated(taken(pool, each))) for each in turned(places[0])]
    for own, answered in (*zip(places, answers, strict=True), *elsewhere):
        needs = "a batched bundle needs rows that do not depend on their place"
        demand_alike(slots, own, answered, f"{needs}, and the {subject.kind} of {rows} rows")
    for own, answered in zip(places, answers, strict=True):
        needs = f"the {subject.kind}s need to be one function at several numbers of rows"
        demand_alike(known, own, answered, f"{needs}, and the {subject.kind} of {rows} rows")
    return calls, answers


def _telling(
    subject: Subject, calls: Sequence[Inputs], answers: Sequence[Mapping[str, Tensor]]
) -> dict[str, float]:
    found = envelopes(subject, calls, answers)
    demand_telling(found)
    return found


def _demand_one_function(subjects: Sequence[Subject]) -> None:
    """Raises `BundleError` where plans differ in more than their rows."""
    rows = [rows_of(subject) for subject in subjects]
    if len(set(rows)) < len(rows):
        raise BundleError(f"the {subjects[0].kind}s need a number of rows each, got {rows}")
    first, *others = subjects
    for subject in others:
        if _per_row(subject) != _per_row(first):
            raise BundleError(
                f"the {first.kind}s need equal names and types but for the rows, got "
                f"{first.signature} and {subject.signature}"
            )


def _per_row(subject: Subject) -> list[tuple[object, ...]]:
    return [
        (slot.name, slot.type.shape[slot.value is None :], str(slot.type.element))
        for slot in (*subject.arguments, *subject.results)
    ]
