"""Reshape and permute: element order, bits, and messages."""

from __future__ import annotations

import numpy as np
import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, i64
from topos.compiler import DIFFERENTIABLE, ELEMENTS
from topos.errors import ShapeError


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
def test_layout_moves_elements_in_row_major_order(element: Element) -> None:
    value = Tensor([[0, 1, 1], [1, 0, 1]], element)
    assert holds(value.reshape((3, 2)), [[0, 1], [1, 1], [0, 1]], element)
    assert holds(value.permute((1, 0)), [[0, 1], [1, 0], [1, 1]], element)
    # A permuted value reshapes by its own order, not by the memory's.
    assert holds(value.permute((-1, 0)).reshape((6,)), [0, 1, 1, 0, 1, 1], element)


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_layout_keeps_the_payload_of_a_nan(element: Element) -> None:
    nans = np.full((2, 3), -1, f"i{element.dtype.itemsize}").view(element.dtype)
    moved = Tensor(nans).reshape((3, 2)).permute((1, 0)).transpose()
    assert moved.numpy().tobytes() == nans.tobytes()


def test_the_axis_named_at_a_place_comes_there() -> None:
    value = Tensor(np.arange(24, dtype=np.int64).reshape(2, 3, 4))
    moved = value.permute((2, 0, 1))
    assert moved.shape == (4, 2, 3)
    assert holds(moved.narrow(0, 1, 1).reshape((6,)), [1, 5, 9, 13, 17, 21], i64)


def test_rank_zero_and_empty_values_change_shape() -> None:
    assert Tensor(1.0).reshape((1, 1)).reshape(()).shape == ()
    assert Tensor(1.0).permute(()).shape == ()
    assert Tensor([]).reshape((3, 0)).permute((1, 0)).shape == (0, 3)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 2), "reshape cannot turn (2, 3) into (2, 2)"),
        ((-1, 2), "a shape needs extents of zero or more, none inferred, got (-1, 2)"),
        ((6.0,), "a shape needs integers, got (6.0,)"),
        ("6", "a shape needs integers, got '6'"),
    ],
)
def test_a_shape_of_another_size_is_refused(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=exactly(message)):
        Tape().input(shape=(2, 3)).reshape(shape)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((0, 0), "permute needs every axis of (2, 3) once, got axes (0, 0)"),
        ((0,), "permute needs every axis of (2, 3) once, got axes (0,)"),
        ((0, 2), "permute needs an axis of a rank-2 value, got axis 2"),
    ],
)
def test_axes_that_are_no_permutation_are_refused(axes: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=exactly(message)):
        Tape().input(shape=(2, 3)).permute(axes)


def test_lines_of_describe_show_shape_and_axes() -> None:
    tape = Tape()
    tape.input(shape=(2, 3)).reshape((3, 1, 2)).permute((0, -1, 1))
    assert tape.into_network().describe().splitlines()[2:] == [
        "%1 = reshape(shape=(3, 1, 2)) %0 : f32[3, 1, 2]",
        "%2 = permute(axes=(0, 2, 1)) %1 : f32[3, 2, 1]",
    ]
