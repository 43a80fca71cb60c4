"""The vocabulary: every reading spells it alike, and what it takes beside itself."""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, same
from tests.sample import Sample
from tests.samples import CASES, title
from topos import Element, Recordable, Tape, Value, f64, i64
from topos.errors import ElementError, ShapeError


@pytest.mark.parametrize(("sample", "element"), CASES, ids=title)
def test_a_tensor_computes_what_a_value_records(sample: Sample, element: Element) -> None:
    computed = sample.express(*(draw.payload(element) for draw in sample.draws))
    tape = Tape(element=element)
    recorded, _ = sample.record(tape, element)
    symbol = recorded.symbol
    assert recorded.type == computed.type
    assert same(tape.into_network().forward().of(symbol), computed)


def test_every_word_says_what_it_returns() -> None:
    words = [name for name in vars(Recordable) if not name.startswith("_")]
    assert [name for name in words if not inspect.getdoc(getattr(Recordable, name))] == []


def test_an_array_never_swallows_a_value() -> None:
    x: Any = Tape().input(shape=(2,))
    message = "an operand must be a Value or a number, got ndarray"
    array: Any = np.ones(2)
    for left, right in [(array, x), (x, array)]:
        with pytest.raises(ElementError, match=exactly(message)):
            left + right
        with pytest.raises(ElementError, match=exactly(message)):
            left * right
    assert isinstance(np.float64(2.0) * x, Value)
    assert isinstance(x / np.int64(2), Value)


def test_python_orders_no_values() -> None:
    x: Any = Tape().input(shape=(2,))
    for word in (operator.lt, operator.ge, operator.mod, operator.getitem):
        with pytest.raises(TypeError):
            word(x, 1)
    with pytest.raises(TypeError):
        iter(x)


def test_negative_axes_count_from_the_back() -> None:
    x = Tape().input(shape=(2, 3, 4))
    assert x.sum(-1).shape == (2, 3)
    assert x.max((-1, -3)).shape == (3,)
    assert x.narrow(-1, 1, 2).shape == (2, 3, 2)
    assert x.unfold(-2, 2, 1).shape == (2, 2, 4, 2)
    assert x.concatenate([x], -2).shape == (2, 6, 4)
    assert x.broadcast_along((-1,), (5,)).shape == (2, 3, 4, 5)
    assert x.permute((-1, 0, -2)).shape == (4, 2, 3)


def test_an_axis_may_be_any_integer() -> None:
    x = Tape().input(shape=(2, 3))
    assert x.sum(np.int64(1)).shape == (2,)
    assert x.sum([np.int32(0)]).shape == (3,)
    with pytest.raises(ShapeError, match=exactly("sum needs an integer axis, got 1.0")):
        x.sum(1.0)  # type: ignore[arg-type]  # What is refused.


def test_nothing_is_promoted_or_broadcast() -> None:
    tape = Tape()
    matrix, row, scalar = (tape.input(shape=shape) for shape in [(2, 3), (3,), ()])
    for small in (row, scalar):
        message = f"mul needs equal shapes, got (2, 3) and {small.shape}"
        with pytest.raises(ShapeError, match=exactly(message)):
            matrix * small
    for element in (f64, i64):
        message = f"add needs equal elements, got f32 and {element}"
        with pytest.raises(ElementError, match=exactly(message)):
            row + tape.input(shape=(3,), element=element)
