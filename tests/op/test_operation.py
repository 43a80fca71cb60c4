"""Operations as values: equality, immutability, pickles, and what every one of them answers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.sample import Sample
from tests.samples import CASES, title
from topos import Element, Tape, TensorType, f32
from topos.compiler import OPERATIONS, Direction, MapOperation, Table
from topos.errors import ShapeError
from topos.op import Add, Compare, Leaf, Map, Narrow, Pad, Source, SumAlong


def test_operations_are_equal_by_their_parameters() -> None:
    assert Pad((1,), (0,)) == Pad(low=(1,), high=(0,))
    assert hash(Pad((1,), (0,))) == hash(Pad((1,), (0,)))
    assert Pad((1,), (0,)) != Pad((0,), (1,))
    assert Map(MapOperation.SIN) != Map(MapOperation.COS)
    assert Add() == Add()
    assert Narrow((0,), (1,)) != Pad((0,), (1,))


def test_an_operation_never_changes() -> None:
    operation = SumAlong((0,))
    with pytest.raises(AttributeError, match="SumAlong is immutable, 'axes' cannot be set"):
        operation.axes = (1,)  # type: ignore[misc]  # What is refused.
    assert operation == SumAlong((0,))


def test_the_parameters_are_complete() -> None:
    with pytest.raises(TypeError, match="Pad takes"):
        Pad((1,))  # type: ignore[call-arg]  # What is refused.


@pytest.mark.parametrize(
    "operation",
    [Add(), SumAlong((0, 2)), Map(MapOperation.ERF), Compare(Direction.LESS)],
    ids=repr,
)
def test_a_pickled_operation_is_equal(operation: Any) -> None:
    copy = pickle.loads(pickle.dumps(operation))
    assert copy == operation
    assert hash(copy) == hash(operation)
    assert repr(copy) == repr(operation)


def test_a_constant_is_equal_to_itself_alone() -> None:
    payload = np.zeros(2, np.float32)
    left, right = (Leaf(TensorType((2,), f32), payload) for _ in range(2))
    assert left != right
    assert left == left
    assert len({left, right}) == 2


def test_every_operation_has_samples() -> None:
    sampled = {sample.operation for sample, _ in CASES}
    assert [kind for kind in OPERATIONS if kind not in sampled] == []


@pytest.mark.parametrize(("sample", "element"), CASES, ids=title)
def test_a_value_has_the_inferred_type_and_leaves_its_operands_alone(
    sample: Sample, element: Element
) -> None:
    tape = Tape(element=element)
    result, _ = sample.record(tape, element)
    run = tape.into_network().forward()
    arrays = [run.of(symbol).numpy() for symbol in run.symbols()]
    for position, (array, form) in enumerate(zip(arrays, tape.columns.forms, strict=True)):
        assert (array.shape, array.dtype) == (form.type.shape, form.type.element.dtype)
        if isinstance(form.operation, Source):
            continue
        inputs = [arrays[place] for place in tape.columns.operands[position]]
        before = [array.tobytes() for array in inputs]
        output = form.operation.kernel(*form.operands)(*inputs)
        assert output.tobytes() == array.tobytes()
        assert [array.tobytes() for array in inputs] == before
        # A plan relies on this: only a view may share memory with a fed array.
        shares = any(np.shares_memory(output, operand) for operand in inputs)
        assert not shares or form.operation.is_view
    assert run.of(result.symbol).shape == result.shape


def test_a_table_names_what_it_lacks_and_refuses_a_second_rule() -> None:
    table: Table[[], str] = Table("spelling")

    @table.rule(Add)
    def add(operation: Add) -> str:
        return operation.name

    assert table(Add()) == "add"
    assert table.missing([Add, Pad]) == [Pad]
    with pytest.raises(TypeError, match="spelling already has a rule for Add"):
        table.rule(Add)(add)
    with pytest.raises(KeyError):
        table(Pad((), ()))


@pytest.mark.parametrize(
    "action",
    [
        lambda x: x.reshape((1,) * 65),
        lambda x: x.broadcast((1,) * 65),
        lambda x: x.broadcast((2**31, 2**31)),
        lambda x: x.reshape((1,)).pad([2**62], [2**62]),
        lambda x: x.tape.input(shape=(1,) * 65),
        lambda x: x.reshape((1,) * 40).gather(x.tape.leaf(np.zeros((1,) * 40, np.int64)), 0),
    ],
)
def test_a_result_has_axes_and_bytes_that_numpy_addresses(action: Any) -> None:
    x = Tape().input(shape=())
    with pytest.raises(ShapeError, match=r"needs 64 axes and 2\*\*62 bytes at most, got shape"):
        action(x)
