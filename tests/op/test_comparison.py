"""Comparison, selection by a mask, and conversion: values, elements and messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, bf16, bool_, f16, f32, f64, i32, i64
from topos.compiler import DIFFERENTIABLE, ELEMENTS, Direction
from topos.errors import ElementError, ShapeError
from topos.op import Compare, Convert, Select

HOLDS = {
    Direction.EQUAL: [0, 1, 1, 0, 0],
    Direction.NOT_EQUAL: [1, 0, 0, 1, 1],
    Direction.LESS: [1, 0, 0, 0, 0],
    Direction.LESS_EQUAL: [1, 1, 1, 0, 0],
    Direction.GREATER: [0, 0, 0, 1, 0],
    Direction.GREATER_EQUAL: [0, 1, 1, 1, 0],
}


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
@pytest.mark.parametrize("direction", Direction, ids=lambda direction: str(direction.name))
def test_zeros_are_equal_and_a_nan_only_differs(direction: Direction, element: Element) -> None:
    left = Tensor([1, 2, -0.0, math.inf, math.nan], element)
    right = Tensor([2, 2, 0.0, 1, math.nan], element)
    assert holds(left.express(Compare(direction), left, right), HOLDS[direction], bool_)


@pytest.mark.parametrize("element", [i64, i32, bool_], ids=str)
def test_integers_and_truth_values_compare(element: Element) -> None:
    left, right = Tensor([0, 1, 1], element), Tensor([1, 1, 0], element)
    assert holds(left.less(right), [1, 0, 0], bool_)
    assert holds(left.not_equal(right), [1, 0, 1], bool_)


def test_a_large_integer_compares_exactly() -> None:
    value = Tensor([2**53, 2**53 + 1], i64)
    assert holds(value.greater(2**53), [0, 1], bool_)


def test_a_comparison_needs_one_type() -> None:
    tape = Tape()
    x, y = tape.input(shape=(2,)), tape.input(shape=(3,))
    with pytest.raises(ShapeError, match=exactly("compare needs equal shapes, got (2,) and (3,)")):
        x.less(y)
    with pytest.raises(
        ElementError, match=exactly("compare needs equal elements, got f32 and i64")
    ):
        x.less(tape.input(shape=(2,), element=i64))


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
def test_select_moves_bits(element: Element) -> None:
    mask = Tensor([1, 0], bool_)
    left, right = Tensor([1, 1], element), Tensor([0, 0], element)
    assert holds(mask.select(left, right), [1, 0], element)


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_select_keeps_the_payload_of_a_nan(element: Element) -> None:
    unsigned = f"u{element.dtype.itemsize}"
    nans = np.array([-1, -1], f"i{element.dtype.itemsize}").view(element.dtype)
    chosen = Tensor([1, 0], bool_).select(Tensor(nans), Tensor([0.0, 0.0], element))
    assert chosen.numpy().view(unsigned)[0] == nans.view(unsigned)[0]


def test_select_needs_a_mask_and_equal_branches() -> None:
    tape = Tape()
    x, mask = tape.input(shape=(2,)), tape.input(shape=(2,), element=bool_)
    with pytest.raises(ElementError, match=exactly("select needs a bool mask, got f32")):
        x.select(x, x)
    with pytest.raises(
        ElementError, match=exactly("select needs equal elements, got f32 and bool")
    ):
        mask.select(x, mask)
    short = tape.input(shape=(1,))
    with pytest.raises(
        ShapeError, match=exactly("select needs equal shapes, got (2,) and (2,) and (1,)")
    ):
        mask.select(x, short)
    with pytest.raises(ShapeError, match=exactly("select takes 3 operands, got 2")):
        x.express(Select(), mask, x)


def test_a_float_becomes_an_integer_by_truncation_and_saturates() -> None:
    value = Tensor([1.9, -1.9, -0.0, math.nan, math.inf, -math.inf, 3e9])
    assert holds(value.convert(i32), [1, -1, 0, 0, 2**31 - 1, -(2**31), 2**31 - 1], i32)
    assert holds(value.convert(i64), [1, -1, 0, 0, 2**63 - 1, -(2**63), 3_000_000_000], i64)
    assert holds(value.convert(bool_), [1, 1, 0, 1, 1, 1, 1], bool_)


def test_an_integer_narrows_modulo_its_range_and_rounds_to_a_float() -> None:
    value = Tensor([2**32 + 5, -1, 2**24 + 1], i64)
    assert holds(value.convert(i32), [5, -1, 2**24 + 1], i32)
    assert holds(value.convert(f32), [2.0**32, -1, 2.0**24], f32)
    assert holds(value.convert(bool_), [1, 1, 1], bool_)
    assert holds(Tensor([1, 0], bool_).convert(f16), [1, 0], f16)


def test_a_conversion_rounds_once() -> None:
    # Through f32 first, each of these would become a tie and round to the even neighbour below.
    above = 1 + 2.0**-8 + 2.0**-30
    assert holds(Tensor(above, f64).convert(bf16), 1 + 2.0**-7, bf16)
    assert holds(Tensor(1 + 2.0**-11 + 2.0**-30, f64).convert(f16), 1 + 2.0**-10, f16)
    assert holds(Tensor(70000.0).convert(f16), math.inf, f16)


def test_convert_takes_one_value_of_any_element() -> None:
    x = Tape().input(shape=(2, 3), element=bool_)
    assert str(x.convert(bf16).type) == "bf16[2, 3]"
    with pytest.raises(ShapeError, match=exactly("convert takes 1 operand, got 2")):
        x.express(Convert(f32), x, x)


def test_a_conversion_carries_the_gradient_back_unless_it_passed_integers() -> None:
    tape = Tape()
    x = tape.parameter([1.5, 2.5], name="x")
    (x.convert(f64).convert(f32) + x.convert(i32).convert(f32)).sum().named("loss")
    gradients = tape.into_network().forward().backward("loss")
    assert holds(gradients.of("x"), [1.0, 1.0], f32)


def test_lines_of_describe_show_direction_and_element() -> None:
    tape = Tape()
    x = tape.input(shape=(2,))
    x.less(x).select(x, x).convert(f64)
    assert tape.into_network().describe().splitlines()[2:] == [
        "%1 = compare(direction=less) %0 %0 : bool[2]",
        "%2 = select %1 %0 %0 : f32[2]",
        "%3 = convert(element=f64) %2 : f64[2]",
    ]
