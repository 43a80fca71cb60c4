"""A batched export tries its rows: with others beside them, with strange ones, in other slots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import topos
from tests.bundle.bundled_models import attention, mlp, recorded, tokens
from topos import Plan, Tape, Value, bool_, f32, i32
from topos.bundle import Bundle, export
from topos.errors import BundleError, FeedError

Array = npt.NDArray[Any]


def mixed(matrix: Callable[[int], Array]) -> Callable[[int], Plan]:
    """Returns recordings in which a matrix adds rows to rows."""

    def body(tape: Tape, features: Value) -> Value:
        return tape.leaf(matrix(features.shape[0]).astype(np.float32)) @ features

    return lambda rows: recorded(body, rows)


def one_to_another(source: int, target: int) -> Callable[[int], Array]:
    def matrix(rows: int) -> Array:
        own = np.eye(rows)
        own[target, source] = 1
        return own

    return matrix


@pytest.mark.parametrize("rows", [2, 5])
def test_any_one_row_that_reaches_any_other_is_seen(tmp_path: Path, rows: int) -> None:
    for source in range(rows):
        for target in range(rows):
            if source == target:
                continue
            plan = mixed(one_to_another(source, target))(rows)
            with pytest.raises(BundleError, match=f"row {target} of 'scores' changes with other"):
                plan.export(tmp_path / "b", batched=True)


def test_a_middle_row_is_seen_among_many(tmp_path: Path) -> None:
    plan = mixed(one_to_another(21, 42))(64)
    with pytest.raises(
        BundleError, match="row 42 of 'scores' changes with other values in rows 1, 3"
    ):
        plan.export(tmp_path / "b", batched=True)


def test_a_row_may_not_depend_on_its_slot(tmp_path: Path) -> None:
    def shifted(slot: int) -> Plan:
        def body(tape: Tape, features: Value) -> Value:
            own = np.zeros(features.shape, np.float32)
            own[slot] = 1
            return features + tape.leaf(own)

        return recorded(body, 4)

    for slot in range(4):
        with pytest.raises(BundleError, match="rows that do not depend on their place, and the"):
            shifted(slot).export(tmp_path / "b", batched=True)


def test_nan_in_one_row_may_not_reach_another(tmp_path: Path) -> None:
    # Nothing times NaN is NaN: the identity couples rows where a number is none.
    with pytest.raises(BundleError, match="row 1 of 'scores' changes with NaN in rows 0, 2"):
        mixed(np.eye)(4).export(tmp_path / "b", batched=True)


def between(least: float, most: float | None) -> Plan:
    """Returns a recording in which a number above `least`, and below `most`, scales all rows.

    NaN is neither, so nothing of it comes through.
    """

    def body(tape: Tape, features: Value) -> Value:
        above = features.greater(least).select(features, 0.0)
        inside = above if most is None else features.less(most).select(above, 0.0)
        return features * (topos.broadcast_to(inside.max(), list(features.shape)) + 1.0)

    return recorded(body, 4)


def test_what_only_large_or_infinite_numbers_couple_is_seen(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="row 1 of 'scores' changes with large numbers in rows 0"):
        between(1e30, 3e38).export(tmp_path / "b", batched=True)
    with pytest.raises(BundleError, match="row 2 of 'scores' changes with infinities in rows 0, 1"):
        between(3e38, None).export(tmp_path / "b", batched=True)


def total_of_integers(rows: int) -> Plan:
    tape = Tape()
    numbers = tape.input(shape=[rows], element=i32, name="numbers")
    (numbers + topos.broadcast_to(numbers.sum(), [rows])).named("y")
    return tape.into_network().entry(["y"]).lower()


@pytest.mark.parametrize("numbers", [[7], [7, 7, 7, 7, 7, 7]], ids=len)
def test_integers_need_two_rows_that_differ(tmp_path: Path, numbers: list[int]) -> None:
    samples = [{"numbers": np.array(numbers, np.int32)}]
    with pytest.raises(FeedError, match="samples with distinct rows of 'numbers', to see that"):
        total_of_integers(4).export(tmp_path / "b", samples=samples, batched=True)
    # One row alone has none beside it.
    assert total_of_integers(1).export(tmp_path / "b", samples=samples, batched=True).batched


def test_integers_that_reach_other_rows_are_seen(tmp_path: Path) -> None:
    for given in ([1, 2], [7, 7, 7, 8], [1, 2, 3]):
        samples = [{"numbers": np.array(given, np.int32)}]
        with pytest.raises(BundleError, match="of 'y' changes with other values"):
            total_of_integers(4).export(tmp_path / "b", samples=samples, batched=True)


def test_integers_are_those_of_a_row_that_differs(tmp_path: Path) -> None:
    tape = Tape()
    numbers = tape.input(shape=[4], element=i32, name="numbers")
    reached = tape.leaf(np.array([0, 1, 0, 0], np.int32))
    first = topos.broadcast_to(numbers.gather(tape.leaf(np.array([0])), 0).sum(), [4])
    (numbers + reached * first).named("y")
    plan = tape.into_network().entry(["y"]).lower()
    # The row after the first is the same, and tells nothing in its place.
    samples = [{"numbers": np.array([7, 7, 8, 8], np.int32)}]
    with pytest.raises(BundleError, match="row 1 of 'y' changes with other values in rows 0, 2"):
        plan.export(tmp_path / "b", samples=samples, batched=True)


def test_truth_values_are_turned_over(tmp_path: Path) -> None:
    tape = Tape()
    flags = tape.input(shape=[2], element=bool_, name="flags")
    any_ = flags.select(tape.leaf(np.ones(2, np.float32)), 0.0).max()
    topos.broadcast_to(any_, [2]).named("y")
    plan = tape.into_network().entry(["y"]).lower()
    with pytest.raises(BundleError, match="of 'y' changes with other values"):
        plan.export(tmp_path / "b", samples=[{"flags": np.array([False, False])}], batched=True)


def test_models_whose_rows_are_their_own_are_taken(tmp_path: Path) -> None:
    words = np.arange(8).reshape(2, 4)
    plans: list[tuple[list[Plan], dict[str, Any]]] = [
        ([mlp(1), mlp(5), mlp(16)], {}),
        ([attention(1), attention(3)], {}),
        ([tokens(1), tokens(4)], {"samples": [{"tokens": words}]}),
    ]
    for number, (recordings, options) in enumerate(plans):
        written = export(tmp_path / f"b{number}", recordings, batched=True, **options)
        assert Bundle.load(written.path).batched


def test_a_scalar_has_no_rows(tmp_path: Path) -> None:
    tape = Tape()
    tape.input(shape=[], element=f32, name="x").exp().named("y")
    plan = tape.into_network().entry(["y"]).lower()
    with pytest.raises(BundleError, match="one leading extent, got x: f32"):
        plan.export(tmp_path / "b", batched=True)
