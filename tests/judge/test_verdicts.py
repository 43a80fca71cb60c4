"""Verdicts on single numbers beside samples that are written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from topos.judge import Verdict, judged
from topos.judge.verdicts import Explanation

F32 = np.float32
# Around 1, with a spread of 1e-5.
SAMPLES = np.array([1 + 1e-5, 1 - 1e-5] * 4, F32)
UNIT = float(np.finfo(F32).eps)


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (1.0, Verdict.EQUAL),
        (1 + 4e-5, Verdict.ROUNDING),
        (1 - 4.9e-5, Verdict.ROUNDING),
        (1 + 7e-5, Verdict.SUSPECT),
        (1 - 9.5e-5, Verdict.SUSPECT),
        (1 + 1.2e-4, Verdict.WRONG),
        (np.inf, Verdict.WRONG),
        (np.nan, Verdict.WRONG),
    ],
)
def test_a_float_is_measured_in_spreads(result: float, verdict: Verdict) -> None:
    found = judged(np.array([1], F32), np.array([result], F32), SAMPLES[:, None])
    assert found.verdicts.tolist() == [verdict]
    assert not found.ill_conditioned.any()


def test_two_units_in_the_last_place_are_always_rounding() -> None:
    oracle = np.ones(3, F32)
    result = np.array([1 + UNIT, 1 + 2 * UNIT, 1 + 3 * UNIT], F32)
    found = judged(oracle, result, np.ones((8, 3), F32))
    assert found.verdicts.tolist() == [Verdict.ROUNDING, Verdict.ROUNDING, Verdict.WRONG]


def test_either_zero_and_any_nan_are_equal() -> None:
    oracle = np.array([0.0, np.nan, np.inf, 2], F32)
    found = judged(oracle, np.array([-0.0, -np.nan, np.inf, 2], F32), np.tile(oracle, (4, 1)))
    assert (found.verdicts == Verdict.EQUAL).all()
    assert (found.distances == 0).all()


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_])
def test_what_no_sample_shows_is_wrong_and_what_one_shows_a_decision(dtype: type) -> None:
    samples = np.zeros((8, 3), np.dtype(dtype))
    samples[3, 1] = 1
    found = judged(np.zeros(3, dtype), np.array([1, 1, 0], dtype), samples)
    assert found.verdicts.tolist() == [Verdict.WRONG, Verdict.DECISION, Verdict.EQUAL]


def test_an_infinity_that_a_sample_has_is_a_decision() -> None:
    samples = np.array([[3, 3], [np.inf, 3]], np.float64)
    found = judged(np.array([3.0, 3.0]), np.array([np.inf, np.inf]), samples)
    assert found.verdicts.tolist() == [Verdict.DECISION, Verdict.WRONG]


def test_an_explanation_is_asked_for_what_is_not_explained_alone() -> None:
    oracle, result = np.array([1.0, 1.0, 1.0]), np.array([1.0 + 1e-17, 0.0, 5.0])
    samples = np.ones((4, 3))
    flushed = np.array([[1.0, 0.0, 1.0]] * 4)
    found = judged(oracle, result, samples, [Explanation(Verdict.RANGED, flushed)])
    assert found.verdicts.tolist() == [Verdict.EQUAL, Verdict.RANGED, Verdict.WRONG]


def test_what_keeps_no_two_digits_is_ill_conditioned() -> None:
    samples = np.array([[1.0, 1.0], [1.03, 1.001], [0.97, 0.999]])
    found = judged(np.array([1.0, 1.0]), np.array([1.02, 1.0005]), samples)
    assert found.ill_conditioned.tolist() == [True, False]


def test_complex_numbers_are_measured_in_the_plane() -> None:
    center = np.array([1 + 1j])
    samples = center + np.array([[1e-5], [1e-5j], [-1e-5], [-1e-5j]])
    near, far = (judged(center, center + gap, samples).verdicts for gap in (3e-5j, 3e-4))
    assert (near[0], far[0]) == (Verdict.ROUNDING, Verdict.WRONG)
