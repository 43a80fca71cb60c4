"""Gather and scatter: clamped indices, the order of additions, and messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, bf16, bool_, f16, f32, i32, i64
from topos.compiler import DIFFERENTIABLE, ELEMENTS
from topos.errors import ElementError, ShapeError


@pytest.mark.parametrize("index", [i64, i32], ids=str)
@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
def test_an_index_outside_is_clamped_to_the_nearest_end(element: Element, index: Element) -> None:
    value = Tensor([1, 0, 0], element)
    least, most = np.iinfo(index.dtype).min, np.iinfo(index.dtype).max
    picked = value.gather(Tensor([0, -1, least, 2, 3, most], index), 0)
    assert holds(picked, [1, 1, 1, 0, 0, 0], element)


def test_the_shape_of_the_indices_takes_the_place_of_the_axis() -> None:
    value = Tensor(np.arange(6, dtype=np.int64).reshape(2, 3))
    assert holds(value.gather(Tensor([[2, 0]], i32), 1), [[[2, 0]], [[5, 3]]], i64)
    assert holds(value.gather(Tensor(1, i32), 0), [3, 4, 5], i64)
    assert holds(value.gather(Tensor(-5, i32), -1), [0, 3], i64)
    assert value.gather(Tensor(np.zeros(0, np.int32)), 0).shape == (0, 3)


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_gather_keeps_the_payload_of_a_nan(element: Element) -> None:
    nans = np.full(2, -1, f"i{element.dtype.itemsize}").view(element.dtype)
    assert Tensor(nans).gather(Tensor([1], i32), 0).numpy().tobytes() == nans[:1].tobytes()


def test_scatter_adds_what_the_indices_name_and_clamps() -> None:
    updates = Tensor([1.0, 2.0, 4.0, 8.0])
    assert holds(updates.scatter(Tensor([0, 2, 0, 9], i32), 0, 3), [5, 0, 10], f32)
    assert holds(updates.scatter(Tensor([-3, 1, 1, 1], i64), 0, 2), [1, 14], f32)
    assert holds(Tensor([-0.0]).scatter(Tensor([0], i32), 0, 1), [0.0], f32)
    assert holds(Tensor(3.0).scatter(Tensor(1, i32), 0, 2), [0, 3], f32)
    assert holds(Tensor([[1.0, 2.0]]).scatter(Tensor([[1, 1]], i32), 0, 2), [0, 3], f32)


def test_nothing_scatters_to_zeros() -> None:
    empty = Tensor(np.zeros((0, 2), np.float32)).scatter(Tensor(np.zeros(0, np.int32)), 0, 3)
    assert holds(empty, np.zeros((3, 2)), f32)


def test_scatter_adds_in_row_major_order_of_the_indices() -> None:
    big, place = 2.0**24, Tensor([0, 0, 0], i32)
    assert holds(Tensor([big, 1.0, -big]).scatter(place, 0, 1), [0.0], f32)
    assert holds(Tensor([big, -big, 1.0]).scatter(place, 0, 1), [1.0], f32)
    square = Tensor([[0, 0], [0, 0]], i32)
    assert holds(Tensor([[big, -big], [1.0, 1.0]]).scatter(square, 0, 1), [2.0], f32)


@pytest.mark.parametrize(("element", "one"), [(f16, 2.0**11), (bf16, 2.0**8)], ids=str)
def test_a_short_float_accumulates_in_f32(element: Element, one: float) -> None:
    place = Tensor([0, 0, 0], i32)
    assert holds(Tensor([one, 1, 1], element).scatter(place, 0, 1), [one + 2], element)


def test_integers_scatter_and_wrap() -> None:
    assert holds(Tensor([2**31 - 1, 1], i32).scatter(Tensor([0, 0], i32), 0, 1), [-(2**31)], i32)


def test_indices_are_integers() -> None:
    tape = Tape()
    x, mask = tape.input(shape=(2,)), tape.input(shape=(2,), element=bool_)
    with pytest.raises(ElementError, match=exactly("gather needs integer indices, got f32")):
        x.gather(x, 0)
    with pytest.raises(ElementError, match=exactly("scatter needs integer indices, got bool")):
        x.scatter(mask, 0, 3)
    indices = tape.input(shape=(2,), element=i32)
    with pytest.raises(ElementError, match=exactly("scatter needs a numeric element, got bool")):
        mask.scatter(indices, 0, 3)
    assert mask.gather(indices, 0).element is bool_


def test_there_is_something_to_choose_from_and_room_to_add() -> None:
    tape = Tape()
    empty, indices = tape.input(shape=(0, 2)), tape.input(shape=(2,), element=i32)
    message = "gather needs something to choose from, got (0, 2)"
    with pytest.raises(ShapeError, match=exactly(message)):
        empty.gather(indices, 0)
    with pytest.raises(
        ShapeError, match=exactly("gather needs an axis of a rank-2 value, got axis 2")
    ):
        empty.gather(indices, 2)
    wide = tape.input(shape=(3, 2))
    message = (
        "scatter needs updates with (2,) at axis 0 and an extent of 1 or more,"
        " got (3, 2) and extent 4"
    )
    with pytest.raises(ShapeError, match=exactly(message)):
        wide.scatter(indices, 0, 4)
    message = (
        "scatter needs updates with (2,) at axis 1 and an extent of 1 or more,"
        " got (3, 2) and extent 0"
    )
    with pytest.raises(ShapeError, match=exactly(message)):
        wide.scatter(indices, 1, 0)


def test_lines_of_describe_show_axis_and_extent() -> None:
    tape = Tape()
    x, indices = tape.input(shape=(3,)), tape.input(shape=(2,), element=i32)
    x.gather(indices, 0).scatter(indices, 0, 3)
    assert tape.into_network().describe().splitlines()[3:] == [
        "%2 = gather(axis=0) %0 %1 : f32[2]",
        "%3 = scatter(axis=0, extent=3) %2 %1 : f32[3]",
    ]


def test_a_negative_axis_of_scatter_counts_in_the_result() -> None:
    x: Any = Tape().input(shape=(3, 2))
    assert x.scatter(x.tape.leaf([0, 1], element=i32), -1, 5).shape == (3, 5)
