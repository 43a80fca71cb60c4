"""Stable forms: infinities, NaNs, large numbers, shapes and messages."""

from __future__ import annotations

import math

import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, f32, i64
from topos.compiler import DIFFERENTIABLE
from topos.errors import ElementError, ShapeError

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_extreme_numbers_neither_overflow_nor_vanish(element: Element) -> None:
    large = float(Tensor(3e4, element))
    rows = Tensor([[large, -large], [-INF, 1.0], [-INF, -INF], [INF, 0.0], [NAN, 0.0]], element)
    assert holds(rows.log_sum_exp(1), [large, 1.0, -INF, INF, NAN], element)
    below = -large - large
    assert holds(
        rows.log_softmax(1),
        [[0.0, below], [-INF, 0.0], [NAN, NAN], [NAN, -INF], [NAN, NAN]],
        element,
    )


def test_equal_numbers_share_the_mass() -> None:
    half = math.log(2.0)
    assert holds(Tensor([5.0, 5.0]).log_softmax(0), [-half, -half], f32)
    assert holds(Tensor([0.0, 0.0]).log_sum_exp(0), half, f32)
    assert holds(Tensor([[7.0], [-3.0]]).log_sum_exp(1), [7.0, -3.0], f32)


def test_the_axis_leaves_the_sum_and_stays_in_the_softmax() -> None:
    x = Tape().input(shape=(2, 3, 0))
    assert x.log_sum_exp(1).shape == (2, 0)
    assert x.log_softmax(-2).shape == (2, 3, 0)


@pytest.mark.parametrize("name", ["log_softmax", "log_sum_exp"])
def test_the_axis_is_there_and_not_empty(name: str) -> None:
    tape = Tape()
    for shape, axis, message in [
        ((2, 0), 1, f"{name} needs an extent of one or more, got (2, 0) over axis 1"),
        ((), 0, f"{name} needs an axis of a rank-0 value, got axis 0"),
    ]:
        with pytest.raises(ShapeError, match=exactly(message)):
            getattr(tape.input(shape=shape), name)(axis)
    with pytest.raises(ElementError, match=exactly(f"{name} needs f64, f32, f16 or bf16, got i64")):
        getattr(tape.input(shape=(2,), element=i64), name)(0)


def test_lines_of_describe_show_the_axis() -> None:
    tape = Tape()
    tape.input(shape=(2, 3)).log_softmax(-1).log_sum_exp(0)
    assert tape.into_network().describe().splitlines()[2:] == [
        "%1 = log_softmax(axis=1) %0 : f32[2, 3]",
        "%2 = log_sum_exp(axis=0) %1 : f32[3]",
    ]
