"""Reductions and broadcasts: the tree of halves, ties, empty extents and messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, bf16, bool_, f16, f32, i32, i64
from topos.compiler import DIFFERENTIABLE
from topos.errors import ElementError, ShapeError
from topos.op import BroadcastAlong


def test_a_sum_is_a_tree_of_halves() -> None:
    big = 2.0**24
    # Halves: (big + -big) + (1 + 0) is 1; left to right it would be 0 in f32.
    assert holds(Tensor([big, 1.0, -big, 0.0]).sum(), 1.0, f32)
    # Five terms: the upper half is shorter, and the third term is carried.
    assert holds(Tensor([big, 1.0, 1.0, -big, 1.0]).sum(), 3.0, f32)


def test_several_axes_flatten_to_one() -> None:
    big = 2.0**24
    value = Tensor([[big, 1.0], [-big, 0.0]])
    assert holds(value.sum((0, 1)), 1.0, f32)
    assert holds(value.sum((-1, 0)), 1.0, f32)
    assert holds(value.sum(1), [big, -big], f32)
    assert holds(value.sum([0]), [0.0, 1.0], f32)


def test_a_sum_starts_at_positive_zero() -> None:
    assert holds(Tensor([-0.0, -0.0]).sum(), 0.0, f32)
    assert holds(Tensor(-0.0).sum(), 0.0, f32)
    assert holds(Tensor([[-0.0]]).sum(()), [[0.0]], f32)


@pytest.mark.parametrize(("element", "one"), [(f16, 2.0**11), (bf16, 2.0**8)], ids=str)
def test_a_short_float_accumulates_in_f32(element: Element, one: float) -> None:
    assert holds(Tensor([one, 1.0, 0.0, 1.0], element).sum(), one + 2, element)


@pytest.mark.parametrize("element", [*DIFFERENTIABLE, i64, i32], ids=str)
def test_an_empty_sum_is_zero(element: Element) -> None:
    empty = Tensor(np.zeros((2, 0, 3), element.dtype))
    assert holds(empty.sum(), 0, element)
    assert holds(empty.sum(1), np.zeros((2, 3)), element)
    assert holds(empty.sum(0), np.zeros((0, 3)), element)


def test_a_sum_of_infinities_is_a_nan_and_integers_wrap() -> None:
    assert holds(Tensor([math.inf, -math.inf]).sum(), math.nan, f32)
    assert holds(Tensor([2**31 - 1, 1], i32).sum(), -(2**31), i32)


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_a_maximum_knows_nans_and_the_signs_of_zeros(element: Element) -> None:
    value = Tensor([[-0.0, 0.0], [0.0, -0.0], [1.0, math.nan], [-math.inf, -math.inf]], element)
    assert holds(value.max(1), [0.0, 0.0, math.nan, -math.inf], element)
    assert holds(value.max(), math.nan, element)
    assert holds(Tensor([-0.0, -0.0], element).max(), -0.0, element)


def test_integers_truth_values_and_single_numbers_have_a_maximum() -> None:
    assert holds(Tensor([3, -4, 2], i64).max(), 3, i64)
    assert holds(Tensor([[0, 1], [0, 0]], bool_).max(1), [1, 0], bool_)
    assert holds(Tensor(5.0).max(), 5.0, f32)


def test_a_maximum_of_nothing_is_refused() -> None:
    empty = Tape().input(shape=(2, 0))
    assert empty.max(0).shape == (0,)
    message = "max_along needs extents of one or more, got (2, 0) over axes (1,)"
    with pytest.raises(ShapeError, match=exactly(message)):
        empty.max(1)


def test_the_gradient_of_a_maximum_goes_to_the_first_that_attains_it() -> None:
    tape = Tape()
    x = tape.parameter([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]], name="x")
    x.max(1).sum().named("rows")
    x.max().named("all")
    network = tape.into_network()
    run = network.forward()
    assert holds(run.backward("rows").of("x"), [[0, 1, 0], [1, 0, 0]], f32)
    assert holds(run.backward("all").of("x"), [[0, 1, 0], [0, 0, 0]], f32)


def test_sums_are_for_numbers() -> None:
    mask = Tape().input(shape=(2,), element=bool_)
    with pytest.raises(ElementError, match=exactly("sum needs a numeric element, got bool")):
        mask.sum()
    with pytest.raises(ElementError, match=exactly("sum_along needs a numeric element, got bool")):
        mask.sum(0)


@pytest.mark.parametrize("name", ["sum", "max"])
def test_axes_are_distinct_integers_within_the_rank(name: str) -> None:
    x = Tape().input(shape=(2, 3))
    for axes, message in [
        (2, f"{name} needs an axis of a rank-2 value, got axis 2"),
        (-3, f"{name} needs an axis of a rank-2 value, got axis -3"),
        ((0, -2), f"{name} needs distinct axes, got (0, -2)"),
        (0.0, f"{name} needs an integer axis, got 0.0"),
        ("0", f"{name} needs an integer axis, got '0'"),
    ]:
        with pytest.raises(ShapeError, match=exactly(message)):
            getattr(x, name)(axes)


def test_broadcast_spreads_one_number() -> None:
    assert holds(Tensor(-0.0).broadcast((2, 1)), [[-0.0], [-0.0]], f32)
    assert holds(Tensor(True, bool_).broadcast((0,)), [], bool_)
    assert holds(Tensor(3.0).broadcast(()), 3.0, f32)
    with pytest.raises(ShapeError, match=exactly("broadcast needs a rank-0 value, got shape (1,)")):
        Tape().input(shape=(1,)).broadcast((2,))


def test_broadcast_along_stands_new_axes_where_it_is_told() -> None:
    value = Tensor([1.0, 2.0])
    assert holds(value.broadcast_along((0,), (3,)), [[1, 2]] * 3, f32)
    assert holds(value.broadcast_along((-1,), (2,)), [[1, 1], [2, 2]], f32)
    assert value.broadcast_along((0, 2), (4, 5)).shape == (4, 2, 5)
    assert value.broadcast_along((), ()).shape == (2,)


def test_broadcast_along_needs_one_extent_an_axis() -> None:
    x = Tape().input(shape=(2,))
    needs = "broadcast_along needs distinct axes with one extent each, got"
    with pytest.raises(ShapeError, match=exactly(f"{needs} axes (0, 1) and extents (3,)")):
        x.broadcast_along((0, 1), (3,))
    with pytest.raises(ShapeError, match=exactly(f"{needs} axes (0,) and extents (3, 4)")):
        x.express(BroadcastAlong((0,), (3, 4)), x)
    with pytest.raises(ShapeError, match=exactly(f"{needs} axes (0, 0) and extents (3, 4)")):
        x.broadcast_along((0, 0), (3, 4))


def test_broadcast_along_pairs_extents_with_axes() -> None:
    assert Tape().input(shape=(3,)).broadcast_along((2, 0), (5, 4)).shape == (4, 3, 5)


def test_lines_of_describe_show_axes_and_extents() -> None:
    tape = Tape()
    x = tape.input(shape=(2, 3))
    x.sum(1).broadcast_along((1,), (3,)).max((0, 1)).broadcast((4,)).sum()
    assert tape.into_network().describe().splitlines()[2:] == [
        "%1 = sum_along(axes=(1,)) %0 : f32[2]",
        "%2 = broadcast_along(axes=(1,), extents=(3,)) %1 : f32[2, 3]",
        "%3 = max_along(axes=(0, 1)) %2 : f32[]",
        "%4 = broadcast(shape=(4,)) %3 : f32[4]",
        "%5 = sum %4 : f32[]",
    ]
