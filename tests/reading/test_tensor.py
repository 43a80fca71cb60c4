"""The computing reading: payloads in, numbers out, immutability, pickles, and messages."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, holds, same
from topos import Element, Tape, Tensor, bf16, bool_, f16, f32, f64, i32, i64
from topos.compiler import ELEMENTS
from topos.errors import ElementError, ShapeError


def test_numbers_and_lists_become_f32_unless_said_otherwise() -> None:
    assert holds(Tensor(1), 1.0, f32)
    assert holds(Tensor([[1, 2.5]]), [[1.0, 2.5]], f32)
    assert holds(Tensor([1, 2], i64), [1, 2], i64)
    assert holds(Tensor(np.arange(2, dtype=np.int32)), [0, 1], i32)


def test_a_tensor_of_a_tensor_keeps_the_element() -> None:
    value = Tensor([1.0], bf16)
    assert same(Tensor(value), value)
    message = "a payload of f32 needs an array of float32, got bfloat16"
    with pytest.raises(ElementError, match=exactly(message)):
        Tensor(value, f32)


def test_nobody_writes_to_a_tensor() -> None:
    array = np.zeros(2, np.float32)
    value = Tensor(array)
    array[0] = 1.0
    assert holds(value, [0.0, 0.0], f32)
    for view in (value.numpy(), np.asarray(value), value.reshape((2, 1)).numpy()):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1.0
    own = np.array(value)
    own[0] = 1.0
    assert holds(value, [0.0, 0.0], f32)


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
def test_a_tensor_survives_pickle_and_copy(element: Element) -> None:
    value = Tensor([[1, 0]], element)
    for twin in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        assert same(twin, value)
        assert not twin.numpy().flags.writeable


def test_an_item_is_a_python_number() -> None:
    assert [type(Tensor([[1]], element).item()) for element in (f16, bf16, i32, bool_)] == [
        float,
        float,
        int,
        bool,
    ]
    assert float(Tensor(2.5)) == 2.5
    message = "item needs a tensor of size one, got shape (2,)"
    with pytest.raises(ShapeError, match=exactly(message)):
        Tensor([1.0, 2.0]).item()
    with pytest.raises(ShapeError, match=exactly(message)):
        float(Tensor([1.0, 2.0]))


def test_one_number_is_true_or_false_and_many_are_neither() -> None:
    assert Tensor([1.0]).greater(0.5)
    assert not Tensor(0.0)
    message = "only a tensor of size one is true or false, got f32[2]"
    with pytest.raises(ElementError, match=exactly(message)):
        bool(Tensor([1.0, 2.0]))


def test_a_python_number_stands_for_a_constant_on_either_side() -> None:
    value: Any = Tensor([4.0, -0.0])
    assert holds(value + 1, [5.0, 1.0], f32)
    assert holds(1 - value, [-3.0, 1.0], f32)
    assert holds(2.0 * value, [8.0, -0.0], f32)
    assert holds(8 / value, [2.0, -math.inf], f32)
    assert holds(value / 8, [0.5, -0.0], f32)
    assert holds(2**value, [16.0, 1.0], f32)
    assert holds(value**2, [16.0, 0.0], f32)
    assert holds(1 + value - 1, [4.0, 0.0], f32)
    assert holds(np.float32(2) * value, [8.0, -0.0], f32)
    assert holds(value * True, [4.0, -0.0], f32)


def test_a_literal_rounds_to_the_element_beside_it() -> None:
    assert holds(Tensor(0.0, bf16) + 0.1, 0.1, bf16)
    assert holds(Tensor(0.0, f64) + 0.1, 0.1, f64)
    message = "a literal beside i64 must be an integer, got 0.5"
    with pytest.raises(ElementError, match=exactly(message)):
        Tensor(1, i64) + 0.5


@pytest.mark.parametrize("other", [np.zeros(2), [0.0, 0.0], "1", None], ids=type)
def test_an_operand_is_a_tensor_or_a_number(other: Any) -> None:
    message = f"an operand must be a Tensor or a number, got {type(other).__name__}"
    value = Tensor([1.0, 2.0])
    with pytest.raises(ElementError, match=exactly(message)):
        value + other
    with pytest.raises(ElementError, match=exactly(message)):
        other - value
    with pytest.raises(ElementError, match=exactly(message)):
        value.maximum(other)


def test_a_recorded_value_is_no_tensor() -> None:
    x: Any = Tape().input(shape=(2,))
    with pytest.raises(
        ElementError, match=exactly("an operand must be a Tensor or a number, got Value")
    ):
        Tensor([1.0, 2.0]) + x
    with pytest.raises(
        ElementError, match=exactly("an operand must be a Value or a number, got Tensor")
    ):
        x + Tensor([1.0, 2.0])


def test_a_tensor_checks_what_a_tape_checks() -> None:
    with pytest.raises(ShapeError, match=exactly("add needs equal shapes, got (2,) and (1,)")):
        Tensor([1.0, 2.0]) + Tensor([1.0])
    with pytest.raises(ElementError, match=exactly("add needs equal elements, got f32 and f64")):
        Tensor(1.0) + Tensor(1.0, f64)


def test_fill_and_iota_are_constants() -> None:
    value = Tensor([[1.0, 2.0]], f16)
    assert holds(value.fill(-0.0), [[-0.0, -0.0]], f16)
    assert holds(value.iota((2, 2)), [[0, 1], [2, 3]], i64)


def test_a_repr_is_short() -> None:
    assert repr(Tensor(1.5)) == "Tensor(1.5, f32[])"
    assert repr(Tensor([1, 2], i64)) == "Tensor([1, 2], i64[2])"
    assert len(repr(Tensor(np.zeros((100, 100))))) < 300
