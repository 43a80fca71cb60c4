"""Rows: whether those of one call leave each other's results alone, to the bit.

No number of calls proves that: what couples rows only at values that no trial has stays unseen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from topos.bundle.sample import Inputs, drawn, taken
from topos.bundle.subject import Subject
from topos.errors import BundleError, FeedError
from topos.payload import DIFFERENTIABLE, Element
from topos.reading import Tensor

Array = npt.NDArray[Any]
Answers = dict[int, dict[str, bytes]]
"""The bits of each result for a row of the pool, by its place there."""

# What stands in rows beside others, and whether these are every other one or all of one half.
STRANGE: Final = (("NaN", True), ("infinities", False), ("large numbers", True))
SHOWN: Final = 4


class Trial(NamedTuple):
    """Inputs in which some rows were changed, and what became of those."""

    changed: frozenset[int]
    inputs: Inputs
    what: str


def demand_independent(
    subject: Subject, pool: Inputs, places: Sequence[int], answered: Mapping[str, Tensor], seed: int
) -> None:
    """Raises `BundleError` where rows that change do not leave the bits of all others alone.

    For any two rows there is a trial in which the first has other values and the second stays.
    In further ones every other row, or half of them, is NaN, infinite, or large.
    """
    for trial in _trials(pool, places, seed):
        again = subject.evaluated(trial.inputs)
        for name, before in answered.items():
            for row in range(len(places)):
                if row not in trial.changed and _row(before, row) != _row(again[name], row):
                    raise BundleError(
                        "a batched bundle needs rows that leave each other alone, and row"
                        f" {row} of {name!r} changes with {trial.what} in {_told(trial.changed)}"
                    )


def demand_alike(
    answers: Answers, places: Sequence[int], answered: Mapping[str, Tensor], needs: str
) -> None:
    """Holds the rows of a call against what is known of them, and adds them to `answers`.

    `places` are those of the rows in the pool. Raises `BundleError` of what it `needs` where a
    row has another result than it had before.
    """
    for row, place in enumerate(places):
        own = {name: _row(result, row) for name, result in answered.items()}
        known = answers.setdefault(place, own)
        for name in own:
            if known[name] != own[name]:
                raise BundleError(f"{needs} returns another {name!r} for the same row")


def demand_distinct(pool: Inputs) -> None:
    """Raises `FeedError` where the integers of an input are the same in every row of the pool.

    Nobody could see then whether another row changes anything, and none can be made up.
    """
    for name, value in pool.items():
        array = value.numpy()
        if value.element in DIFFERENTIABLE or array.dtype.kind == "b" or not array[:1].size:
            continue
        if all(_row(value, row) == _row(value, 0) for row in range(len(array))):
            raise FeedError(
                f"a batched bundle needs samples with distinct rows of {name!r}, to see that rows"
                f" leave each other alone, and all {len(array)} are equal"
            )


def turned(places: Sequence[int]) -> list[list[int]]:
    """Returns the same rows in other slots: moved on by one, and by half of them."""
    shifts = sorted({1, len(places) // 2}) if len(places) > 1 else []
    return [[*places[shift:], *places[:shift]] for shift in shifts]


def _trials(pool: Inputs, places: Sequence[int], seed: int) -> Iterator[Trial]:
    groups = _groups(len(places))
    for number, group in enumerate(groups):
        others = _with_others(pool, places, group, (seed, number))
        yield Trial(group, others, "other values")
    own = taken(pool, places)
    if not any(value.element in DIFFERENTIABLE for value in own.values()):
        return
    for what, every_other in STRANGE:
        for group in groups[:2] if every_other else groups[-2:]:
            yield Trial(group, _with_strange(own, group, what), what)


def _groups(rows: int) -> list[frozenset[int]]:
    """Returns groups of which, for any two rows, one has the first row and not the second.

    Two rows differ in a digit of their numbers in base two, so twice as many groups do as there
    are digits: the first two are every other row, the last two the rows before and after a half.
    """
    return [
        frozenset(row for row in range(rows) if row >> digit & 1 == side)
        for digit in range((rows - 1).bit_length())
        for side in (0, 1)
    ]


def _with_others(
    pool: Inputs, places: Sequence[int], group: Collection[int], seed: tuple[int, int]
) -> Inputs:
    """Returns a call whose rows of a group are others: drawn floats, integers of another row."""
    replaced = {}
    for number, (name, value) in enumerate(taken(pool, places).items()):
        array, rows = np.array(value.numpy()), sorted(group)
        if value.element in DIFFERENTIABLE:
            array[rows] = drawn(value.type, (*seed, number, 1)).numpy()[rows]
        elif array.dtype.kind == "b":
            array[rows] = ~array[rows]
        else:
            for row in rows:
                array[row] = _another(pool[name], places[row])
        replaced[name] = Tensor.wrap(array, value.element)
    return replaced


def _another(value: Tensor, place: int) -> Array:
    """Returns the next row of the pool that differs from the one at `place`."""
    count, own = value.shape[0], _row(value, place)
    following = ((place + step) % count for step in range(1, count))
    found = next((other for other in following if _row(value, other) != own), place)
    row: Array = value.numpy()[found]
    return row


def _with_strange(inputs: Inputs, group: Collection[int], what: str) -> Inputs:
    """Returns a call whose floats in the rows of a group are strange ones, of either sign."""
    replaced = dict(inputs)
    for name, value in inputs.items():
        if value.element in DIFFERENTIABLE:
            array, rows = np.array(value.numpy()), sorted(group)
            signs = np.where(np.arange(array.size).reshape(array.shape) % 2, -1.0, 1.0)
            array[rows] = (_strange(value.element, what) * signs)[rows].astype(array.dtype)
            replaced[name] = Tensor.wrap(array, value.element)
    return replaced


def _strange(element: Element, what: str) -> float:
    limits: Any = ml_dtypes.finfo  # It has no types of its own.
    # A sum of a few of them leaves the range.
    large = float(limits(element.dtype).max) / 2
    return {"NaN": np.nan, "infinities": np.inf, "large numbers": large}[what]


def _told(rows: Collection[int]) -> str:
    numbers = [str(row) for row in sorted(rows)]
    shown = ", ".join(numbers[:SHOWN]) + (", ..." if len(numbers) > SHOWN else "")
    return f"row {shown}" if len(numbers) == 1 else f"rows {shown}"


def _row(value: Tensor, row: int) -> bytes:
    bits: bytes = value.numpy()[row].tobytes()
    return bits
