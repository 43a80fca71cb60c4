"""The ragged product: its three modes, against slices multiplied by numpy in float64."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import spelled
from tests.runtimes.interpreter.high_precision import Array
from topos.runtimes.interpreter import run_text

RNG = np.random.default_rng(2)
LEFT = RNG.integers(-9, 9, (2, 11, 5)).astype(np.float32)
GROUPED = RNG.integers(-9, 9, (3, 2, 5, 7)).astype(np.float32)
RIGHT = RNG.integers(-9, 9, (2, 5, 7)).astype(np.float32)
KEYS = (
    "lhs_batching_dimensions",
    "rhs_batching_dimensions",
    "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
    "lhs_ragged_dimensions",
    "rhs_group_dimensions",
)


def product(right: Array, sizes: Any, numbers: Any, shape: tuple[int, ...]) -> Array:
    groups = np.array(sizes, np.int64)
    fields = ", ".join(f"{key} = {axes}" for key, axes in zip(KEYS, numbers, strict=True))
    types = ", ".join(map(spelled, (LEFT, right, groups)))
    result = spelled(np.empty(shape, np.float32))
    text = f"""func.func @main(%a: {spelled(LEFT)}, %b: {spelled(right)}, %g: {spelled(groups)})
        -> {result} {{
      %r = "chlo.ragged_dot"(%a, %b, %g)
        {{ragged_dot_dimension_numbers = #chlo.ragged_dot<{fields}>}} : ({types}) -> {result}
      return %r : {result}
    }}"""
    (value,) = run_text(text, [LEFT, right, groups])
    return value


def ranges(sizes: Any) -> list[slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


@pytest.mark.parametrize("sizes", [[4, 4, 3], [4, 0, 3], [0, 0, 0], [11, 0, 0], [5, 5, 9]])
def test_each_group_of_rows_has_its_own_right_operand(sizes: list[int]) -> None:
    wanted = np.zeros((2, 11, 7))
    for group, rows in enumerate(ranges(sizes)):
        wanted[:, rows] = LEFT[:, rows].astype(float) @ GROUPED[group]
    numbers: Any = ([0], [1], [2], [2], [1], [0])
    assert np.array_equal(product(GROUPED, sizes, numbers, (2, 11, 7)), wanted)


def test_a_list_of_sizes_for_each_batch() -> None:
    sizes, wanted = [[4, 4, 3], [1, 2, 5]], np.zeros((2, 11, 7))
    for batch in range(2):
        for group, rows in enumerate(ranges(sizes[batch])):
            wanted[batch, rows] = LEFT[batch, rows].astype(float) @ GROUPED[group, batch]
    numbers: Any = ([0], [1], [2], [2], [1], [0])
    assert np.array_equal(product(GROUPED, sizes, numbers, (2, 11, 7)), wanted)


@pytest.mark.parametrize("sizes", [[2, 1, 2], [5, 0, 0], [1, 1, 1]])
def test_each_group_of_the_contracted_axis_has_its_own_result(sizes: list[int]) -> None:
    wanted = np.array([LEFT[:, :, part].astype(float) @ RIGHT[:, part] for part in ranges(sizes)])
    numbers: Any = ([0], [0], [2], [1], [2], [])
    assert np.array_equal(product(RIGHT, sizes, numbers, (3, 2, 11, 7)), wanted)


def test_a_list_of_contracted_sizes_for_each_batch() -> None:
    sizes = [[2, 1, 1], [0, 3, 2]]
    wanted = np.zeros((3, 2, 11, 7))
    for batch in range(2):
        for group, part in enumerate(ranges(sizes[batch])):
            wanted[group, batch] = LEFT[batch, :, part].astype(float) @ RIGHT[batch, part]
    numbers: Any = ([0], [0], [2], [1], [2], [])
    assert np.array_equal(product(RIGHT, sizes, numbers, (3, 2, 11, 7)), wanted)


def test_groups_of_a_batch_change_nothing() -> None:
    numbers: Any = ([0], [0], [2], [1], [0], [])
    assert np.array_equal(product(RIGHT, [1, 1], numbers, (2, 11, 7)), LEFT.astype(float) @ RIGHT)
