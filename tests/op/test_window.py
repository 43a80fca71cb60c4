"""Windows and their adjoint: counts, the order of additions, and messages."""

from __future__ import annotations

import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, bf16, bool_, f16, f32, i32
from topos.compiler import ELEMENTS
from topos.errors import ElementError, ShapeError


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
def test_windows_stand_every_step_and_leave_out_what_does_not_fill_one(element: Element) -> None:
    value = Tensor([0, 1, 1, 0, 1, 0], element)
    assert holds(value.unfold(0, 3, 2), [[0, 1, 1], [1, 0, 1]], element)
    assert holds(value.unfold(0, 1, 5), [[0], [0]], element)
    assert holds(value.unfold(-1, 6, 1), [[0, 1, 1, 0, 1, 0]], element)


def test_the_axis_counts_windows_and_a_new_last_axis_holds_them() -> None:
    value = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    windows = value.unfold(0, 2, 1)
    assert holds(windows, [[[1, 3], [2, 4]], [[3, 5], [4, 6]]], f32)


def test_a_fold_adds_where_the_windows_lay() -> None:
    windows = Tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    assert holds(windows.fold(0, 1, 4), [1, 12, 23, 30], f32)
    assert holds(windows.fold(0, 2, 6), [1, 2, 13, 20, 30, 0], f32)
    assert holds(windows.fold(0, 4, 8), [1, 2, 3, 0, 10, 20, 30, 0], f32)
    assert holds(Tensor([[-0.0]]).fold(0, 1, 1), [0.0], f32)


def test_a_fold_adds_first_elements_first() -> None:
    big = 2.0**24
    windows = Tensor([[0.0, 0.0, -big], [0.0, big, 0.0], [1.0, 0.0, 0.0]])
    assert holds(windows.fold(0, 1, 5), [0, 0, 0, 0, 0], f32)
    windows = Tensor([[0.0, 0.0, 1.0], [0.0, big, 0.0], [-big, 0.0, 0.0]])
    assert holds(windows.fold(0, 1, 5), [0, 0, 1, 0, 0], f32)


@pytest.mark.parametrize(("element", "one"), [(f16, 2.0**11), (bf16, 2.0**8)], ids=str)
def test_a_short_float_accumulates_in_f32(element: Element, one: float) -> None:
    windows = Tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [one, 0.0, 0.0]], element)
    assert holds(windows.fold(0, 1, 5), [0, 0, one + 2, 0, 0], element)


def test_integers_fold_and_truth_values_do_not() -> None:
    assert holds(Tensor([[2**31 - 1], [1]], i32).fold(0, 1, 2), [2**31 - 1, 1], i32)
    with pytest.raises(ElementError, match=exactly("fold needs a numeric element, got bool")):
        Tape().input(shape=(2, 2), element=bool_).fold(0, 1, 3)


@pytest.mark.parametrize(("size", "step"), [(0, 1), (6, 1), (2, 0), (2, -1)])
def test_a_window_fits_and_a_step_advances(size: int, step: int) -> None:
    message = (
        "unfold needs a size of 1 to 5 along axis 0 of (5,) and a step of 1 or more,"
        f" got size {size} and step {step}"
    )
    with pytest.raises(ShapeError, match=exactly(message)):
        Tape().input(shape=(5,)).unfold(0, size, step)


def test_windows_need_a_place_for_each() -> None:
    x = Tape().input(shape=(3, 2))
    with pytest.raises(ShapeError, match=exactly("fold cannot lay 3 windows of 2 every 1 into 5")):
        x.fold(0, 1, 5)
    with pytest.raises(ShapeError, match=exactly("fold cannot lay 3 windows of 2 every 1 into 1")):
        x.fold(0, 1, 1)
    message = (
        "fold needs windows along axis 1 beside a last axis and a step of 1 or more,"
        " got (3, 2) and step 1"
    )
    with pytest.raises(ShapeError, match=exactly(message)):
        x.fold(1, 1, 4)
    with pytest.raises(
        ShapeError, match=exactly("unfold needs an axis of a rank-2 value, got axis 2")
    ):
        x.unfold(2, 1, 1)


def test_lines_of_describe_show_axis_size_and_step() -> None:
    tape = Tape()
    tape.input(shape=(5,)).unfold(0, 2, 1).fold(0, 1, 5)
    assert tape.into_network().describe().splitlines()[2:] == [
        "%1 = unfold(axis=0, size=2, step=1) %0 : f32[4, 2]",
        "%2 = fold(axis=0, step=1, extent=5) %1 : f32[5]",
    ]
