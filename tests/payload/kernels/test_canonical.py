"""Every NaN becomes the canonical one, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels.canonical import canonical

Array = npt.NDArray[Any]

QUIET = {
    "float64": 0x7FF8_0000_0000_0000,
    "float32": 0x7FC0_0000,
    "float16": 0x7E00,
    "bfloat16": 0x7FC0,
}


def by_definition(array: Array) -> Array:
    bits = [
        QUIET[array.dtype.name] if element != element else int(pattern)
        for element, pattern in zip(
            array.astype(np.float64).reshape(-1),
            array.view(f"u{array.itemsize}").reshape(-1),
            strict=True,
        )
    ]
    return np.array(bits, f"u{array.itemsize}").view(array.dtype).reshape(array.shape)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7, 5), (101, 97)])
def test_nan_becomes_canonical(
    floating: np.dtype[Any],
    shape: tuple[int, ...],
    draw: Callable[..., Array],
    same: Callable[[Any, Any], bool],
) -> None:
    array = draw(floating, shape, 3)
    with np.errstate(all="ignore"):
        expected = by_definition(array)
        assert same(canonical(array), expected)
        assert same(canonical(np.array(draw(floating, shape, 3), order="F")), expected)


def test_one_nan_in_a_large_array_becomes_canonical(
    floating: np.dtype[Any], draw: Callable[..., Array], same: Callable[[Any, Any], bool]
) -> None:
    array = draw(floating, (20_001,), 1, tame=True)
    array.view(f"u{array.itemsize}")[19_999] = np.iinfo(f"u{array.itemsize}").max
    expected = by_definition(array)
    assert expected.view(f"u{array.itemsize}")[19_999] == QUIET[floating.name]
    assert same(canonical(array), expected)


def test_canonical_changes_in_place(floating: np.dtype[Any]) -> None:
    array = -np.full(3, np.nan, floating)
    assert canonical(array) is array
    assert set(array.view(f"u{array.itemsize}").tolist()) == {QUIET[floating.name]}


def test_integers_are_returned_as_they_are() -> None:
    for array in (np.arange(3), np.array([True, False])):
        assert canonical(array) is array
