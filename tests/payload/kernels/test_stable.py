"""The stable forms equal their definition, spelled one line of numbers at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels import maps, stable

Array = npt.NDArray[Any]
Draw = Callable[..., Array]
Layouts = Callable[[Array], list[Array]]
Same = Callable[[Any, Any], bool]

CASES: list[tuple[tuple[int, ...], int]] = [
    ((1,), 0),
    ((0,), 0),
    ((3, 0), 0),
    ((3, 0), 1),
    ((7,), 0),
    ((4, 5), 0),
    ((4, 5), 1),
    ((2, 9, 3), 1),
]


def halved(terms: list[Any]) -> Any:
    while len(terms) > 1:
        half = math.ceil(len(terms) / 2)
        terms = [
            terms[i] + terms[i + half] if i < len(terms) - half else terms[i] for i in range(half)
        ]
    return terms[0]


def parts(line: list[Any], compute: Any) -> tuple[Any, list[Any], Any]:
    """Returns the peak, the shifted elements, and the logarithm of their exponentials' sum."""
    nan = any(element != element for element in line)
    peak = compute(np.nan) if nan else max(line, default=compute(-np.inf))
    if np.isinf(peak):
        peak = compute(0)
    shifted = [element - peak for element in line]
    powers = [maps.exp(np.array(element, compute))[()] for element in shifted]
    total = compute(0) + (halved(powers) if powers else compute(0))
    return peak, shifted, maps.ln(np.array(total, compute))[()]


def by_definition(array: Array, axis: int) -> tuple[Array, Array]:
    compute = np.float32 if array.dtype.itemsize == 2 else array.dtype.type
    wide = np.moveaxis(array.astype(compute), axis, -1)
    sums, logs = np.empty(wide.shape[:-1], compute), np.empty(wide.shape, compute)
    for index in np.ndindex(*wide.shape[:-1]):
        peak, shifted, logarithm = parts(list(wide[index]), compute)
        sums[index] = peak + logarithm
        logs[index] = [element - logarithm for element in shifted]
    for result in (sums, logs):
        result[np.isnan(result)] = np.nan
    plain = np.ascontiguousarray(np.moveaxis(logs, -1, axis))
    return sums.astype(array.dtype), plain.astype(array.dtype)


@pytest.mark.parametrize(("shape", "axis"), CASES)
@pytest.mark.parametrize("tame", [True, False])
def test_stable_forms_are_their_definition(
    shape: tuple[int, ...],
    axis: int,
    tame: bool,
    floating: np.dtype[Any],
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    array = draw(floating, shape, 1, tame=tame)
    with np.errstate(all="ignore"):
        sums, logs = by_definition(array, axis)
    for view in layouts(array):
        assert same(stable.log_sum_exp(view, axis), sums)
        assert same(stable.log_softmax(view, axis), logs)


def test_infinite_peaks_are_replaced_by_zero(floating: np.dtype[Any], same: Same) -> None:
    lines = np.array([[-np.inf, -np.inf], [np.inf, 0.0], [0.0, -np.inf]], floating)
    sums = np.array([-np.inf, np.inf, 0.0], floating)
    logs = np.array([[np.nan, np.nan], [np.nan, -np.inf], [0.0, -np.inf]], floating)
    assert same(stable.log_sum_exp(lines, 1), sums)
    assert same(stable.log_softmax(lines, 1), logs)


def test_large_elements_do_not_overflow(floating: np.dtype[Any], same: Same) -> None:
    lines = np.full((1, 1), np.finfo(np.float16).max).astype(floating)
    assert same(stable.log_sum_exp(lines, 1), lines[0])
    assert same(stable.log_softmax(lines, 1), np.zeros((1, 1), floating))
