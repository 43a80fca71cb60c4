"""Distances between results: steps of the dtype, and shares of the largest magnitude."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from topos.runtimes.distance import FAR, largest_distance, relative_difference

ONE = np.float32(1)
TINY = np.finfo(np.float32).smallest_subnormal
NORMAL = np.finfo(np.float32).smallest_normal


@pytest.mark.parametrize(
    ("left", "right", "distance", "flushed"),
    [
        ([ONE, 2], [np.nextafter(ONE, ONE * 2), 2], 1, 1),
        ([-TINY], [TINY], 2, 0),
        ([-NORMAL], [NORMAL], 2**24, 2),
        ([0.0], [-0.0], 0, 0),
        ([np.nan, 1], [-np.nan, 1], 0, 0),
        ([np.nan, 1], [1, 1], FAR, FAR),
        ([], [], 0, 0),
    ],
)
def test_a_step_leads_from_one_float_to_the_next(
    left: list[Any], right: list[Any], distance: int, flushed: int
) -> None:
    ours, theirs = np.array(left, np.float32), np.array(right, np.float32)
    for first, second in ((ours, theirs), (theirs, ours)):
        assert largest_distance(first, second) == distance
        assert largest_distance(first, second, flushed=True) == flushed


def test_steps_are_those_of_the_dtype() -> None:
    low, high = np.array([-(2**63), 5]), np.array([2**63 - 1, 3])
    assert largest_distance(low, high) == 2**64 - 1
    assert largest_distance(low, high.astype(np.uint64)) == FAR
    assert largest_distance(low, high[:1]) == FAR
    narrow = np.array([1, 2], ml_dtypes.bfloat16)
    assert largest_distance(narrow, np.array([1.0078125, 2], ml_dtypes.bfloat16)) == 1
    smallest = np.array([1.1754944e-38], ml_dtypes.bfloat16)
    assert largest_distance(smallest, 0 * smallest, flushed=True) == 1


@pytest.mark.parametrize(
    ("left", "right", "share"),
    [
        ([1, 4], [1, 3], 0.25),
        ([1, -4], [2, -4], 0.25),
        ([np.nan, np.inf, 2], [np.nan, np.inf, 1], 0.5),
        ([1, np.inf], [1, 2], np.inf),
        ([0, 0], [0, 0], 0),
        ([0], [1], np.inf),
        ([], [], 0),
    ],
)
def test_a_difference_is_told_beside_the_largest(
    left: list[Any], right: list[Any], share: float
) -> None:
    ours, theirs = np.array(left, np.float32), np.array(right, np.float32)
    assert relative_difference(ours, theirs) == share
    assert relative_difference(ours, theirs.astype(np.float64)) == np.inf
