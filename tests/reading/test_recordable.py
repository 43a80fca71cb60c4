"""The vocabulary: every reading spells it alike, and what it takes beside itself."""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, holds, same
from tests.sample import Sample
from tests.samples import CASES, title
from topos import Element, Recordable, Tape, Tensor, Value, bool_, f32, f64, i32, i64
from topos.errors import ElementError, PhaseError, ShapeError, ToposError


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


@pytest.mark.parametrize(
    "action",
    [
        lambda x: x.narrow(0, 1.5, 2),
        lambda x: x.unfold(0, 2.0, 1),
        lambda x: x.pad((1.0,), (0,)),
        lambda x: x.pad(1, 1),
        lambda x: x.reshape((4, 1)).fold(0, 1, 4.0),
        lambda x: x.scatter(x.tape.leaf([0] * 4, element=i32), 0, 3.0),
    ],
)
def test_static_parameters_are_integers(action: Any) -> None:
    with pytest.raises(ShapeError):
        action(Tape().input(shape=(4,)))


def test_a_number_is_no_matrix_list_or_index() -> None:
    tape = Tape()
    x: Any = tape.input(shape=(2, 2))
    count: Any = tape.input(shape=(2, 2), element=i64)
    with pytest.raises(ElementError, match=r"^an operand must be a Value, got float$"):
        x @ 2.0
    with pytest.raises(ElementError, match=r"^an operand must be a Value, got float$"):
        x.concatenate([1.0], 0)
    with pytest.raises(ElementError, match=r"^an operand must be a Value, got int$"):
        count.gather(0, 0)


def test_a_number_is_not_compared_by_identity() -> None:
    x: Any = Tape().input(shape=(2, 2))
    with pytest.raises(ElementError, match=r"^== compares identities"):
        assert x == 0.0
    assert x == x
    assert x in [x]


def test_numpy_finds_no_numbers_in_a_value() -> None:
    x: Any = Tape().input(shape=(2, 2))
    for function in (np.mean, np.asarray, np.transpose):
        with pytest.raises(PhaseError, match=r"^a recorded value has no numbers for numpy"):
            function(x)


def test_select_fills_a_number_beside_the_other_branch() -> None:
    mask, x = Tensor([1, 0], bool_), Tensor([5.0, 5.0])
    assert holds(mask.select(x, 0.0), [5.0, 0.0], f32)


def test_a_recorded_value_is_neither_true_nor_false() -> None:
    with pytest.raises(ToposError):
        bool(Tape().input(shape=()))
