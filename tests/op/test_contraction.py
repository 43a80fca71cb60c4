"""The matrix product and the transpose: order of additions, elements, shapes and messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, bf16, bool_, f16, f32, f64, i32, i64
from topos.errors import ElementError, ShapeError
from topos.op import MatMul


def test_a_product_adds_left_to_right_and_never_fuses() -> None:
    big = 2.0**24
    assert holds(Tensor([[big, 1.0, -big]]) @ Tensor([[1.0]] * 3), [[0.0]], f32)
    assert holds(Tensor([[big, -big, 1.0]]) @ Tensor([[1.0]] * 3), [[1.0]], f32)
    # A fused multiply-add would keep the low half of the square.
    odd = 1.0 + 2.0**-12
    row, column = [[-1.0 - 2.0**-11, odd]], [[1.0], [odd]]
    assert holds(Tensor(row) @ Tensor(column), [[0.0]], f32)


def test_a_product_starts_at_positive_zero() -> None:
    assert holds(Tensor([[-0.0]]) @ Tensor([[1.0]]), [[0.0]], f32)


@pytest.mark.parametrize(("element", "one"), [(f16, 2.0**11), (bf16, 2.0**8)], ids=str)
def test_a_short_float_accumulates_in_f32_and_rounds_at_the_end(
    element: Element, one: float
) -> None:
    # In the stored format, adding 1 twice to `one` would leave it as it is.
    row = Tensor([[one, 1.0, 1.0]], element)
    assert holds(row @ Tensor([[1.0]] * 3, element), [[one + 2]], element)


@pytest.mark.parametrize(("element", "width"), [(i32, 32), (i64, 64)], ids=str)
def test_integers_wrap_around(element: Element, width: int) -> None:
    half = 2 ** (width - 2)
    assert holds(
        Tensor([[half, half]], element) @ Tensor([[1], [1]], element),
        [[-(2 ** (width - 1))]],
        element,
    )


def test_infinity_times_zero_is_a_nan() -> None:
    assert holds(Tensor([[math.inf, 1.0]]) @ Tensor([[0.0], [1.0]]), [[math.nan]], f32)


def test_leading_axes_are_a_batch() -> None:
    left = np.arange(12.0).reshape(2, 2, 3)
    right = np.arange(6.0).reshape(2, 3, 1)
    wanted = [[[5.0], [14.0]], [[86.0], [122.0]]]
    assert holds(Tensor(left, f64) @ Tensor(right, f64), wanted, f64)


@pytest.mark.parametrize(
    ("left", "right", "shape"),
    [((0, 3), (3, 2), (0, 2)), ((2, 0), (0, 2), (2, 2)), ((0, 2, 1), (0, 1, 2), (0, 2, 2))],
)
def test_an_empty_product_is_zeros(
    left: tuple[int, ...], right: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    product = Tensor(np.ones(left)) @ Tensor(np.ones(right))
    assert holds(product, np.zeros(shape), f64)


@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 3), (2, 3)), ((3,), (3,)), ((2, 3), (3,)), ((), ()), ((1, 2, 3), (2, 3, 1))],
)
def test_shapes_that_do_not_multiply_are_refused(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    tape = Tape()
    x, y = tape.input(shape=left), tape.input(shape=right)
    with pytest.raises(ShapeError, match=exactly(f"matmul cannot multiply {left} by {right}")):
        x @ y


def test_a_product_is_for_numbers_of_one_element() -> None:
    tape = Tape()
    x, mask = tape.input(shape=(2, 2)), tape.input(shape=(2, 2), element=bool_)
    with pytest.raises(
        ElementError, match=exactly("matmul needs equal elements, got f32 and bool")
    ):
        x @ mask
    with pytest.raises(ElementError, match=exactly("matmul needs a numeric element, got bool")):
        mask @ mask
    with pytest.raises(ShapeError, match=exactly("matmul takes 2 operands, got 1")):
        x.express(MatMul(), x)


def test_transpose_swaps_the_last_two_axes() -> None:
    value = Tensor(np.arange(6, dtype=np.int64).reshape(1, 2, 3))
    assert holds(value.transpose(), [[[0, 3], [1, 4], [2, 5]]], i64)
    with pytest.raises(
        ShapeError, match=exactly("transpose needs two axes or more, got shape (3,)")
    ):
        Tape().input(shape=(3,)).transpose()


def test_a_line_of_describe_is_the_operation_and_its_operands() -> None:
    tape = Tape()
    x = tape.input(shape=(2, 3))
    x @ x.transpose()
    assert tape.into_network().describe().splitlines()[2:] == [
        "%1 = transpose %0 : f32[3, 2]",
        "%2 = matmul %0 %1 : f32[2, 2]",
    ]
