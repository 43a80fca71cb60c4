"""Comparisons follow the exact numbers; selection keeps bits."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels import comparison

Array = npt.NDArray[Any]
Draw = Callable[..., Array]
Layouts = Callable[[Array], list[Array]]
Same = Callable[[Any, Any], bool]

SHAPES = [(), (0,), (1,), (5, 7), (3, 11, 5)]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "bool"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_comparison_compares_the_numbers(
    name: str, dtype: str, shape: tuple[int, ...], draw: Draw, layouts: Layouts, same: Same
) -> None:
    left, right = draw(dtype, shape, 1), draw(dtype, shape, 2)
    # Python's numbers: a float of each of these formats is a float64 exactly.
    number = int if left.dtype.kind in "ib" else float
    with np.errstate(all="ignore"):
        values = [
            OPERATORS[name](number(x), number(y))
            for x, y in zip(left.reshape(-1), right.reshape(-1), strict=True)
        ]
    expected = np.array(values, np.bool_).reshape(shape)
    for first, second in zip(layouts(left), reversed(layouts(right)), strict=True):
        assert same(getattr(comparison, name)(first, second), expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_select_keeps_bits(
    dtype: str, shape: tuple[int, ...], draw: Draw, layouts: Layouts, same: Same
) -> None:
    mask, on_true, on_false = draw("bool", shape, 3), draw(dtype, shape, 4), draw(dtype, shape, 5)
    size = on_true.dtype.itemsize
    pieces = [
        first.tobytes() if chosen else second.tobytes()
        for chosen, first, second in zip(
            mask.reshape(-1), on_true.reshape(-1), on_false.reshape(-1), strict=True
        )
    ]
    assert all(len(piece) == size for piece in pieces)
    expected = np.frombuffer(b"".join(pieces), on_true.dtype).reshape(shape)
    for first, second, third in zip(
        layouts(mask), reversed(layouts(on_true)), layouts(on_false), strict=True
    ):
        assert same(comparison.select(first, second, third), expected)


# On both sides of where the choice changes from copies to masks of bits.
@pytest.mark.parametrize("length", [8, 2048])
@pytest.mark.parametrize("dtype", DTYPES)
def test_select_fills_an_array_with_the_same_bits(dtype: str, length: int, draw: Draw) -> None:
    mask, on_true, on_false = (
        draw(each, (length,), seed) for each, seed in (("bool", 3), (dtype, 4), (dtype, 5))
    )
    zero = np.zeros((), on_true.dtype)
    for first, second in ((on_true, on_false), (on_true, zero), (zero, on_false)):
        out = np.empty(length, on_true.dtype)
        assert comparison.select(mask, first, second, out) is out
        assert out.tobytes() == comparison.select(mask, first, second).tobytes()
