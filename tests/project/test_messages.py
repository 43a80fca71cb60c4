"""Mistakes while recording: class, whole message, the user's own line, nothing half done."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.exact import holds
from tests.project.bad_input import Bad, innermost_of_the_user, sealed_value
from topos import (
    Tape,
    Tensor,
    bool_,
    broadcast_to,
    concat,
    errors,
    f16,
    f32,
    f64,
    i32,
    mean,
    stack,
)

SEALED = "the tape is sealed: its values are dead, symbols name what they were"
ELEMENTS = "there are f64, f32, f16, bf16, i64, i32, bool"


class Recording:
    """A tape with one value of each kind; every bad input below is tried on it."""

    def __init__(self) -> None:
        self.tape = Tape()
        # Any, for most of what is tried here is what the types forbid.
        self.x: Any = self.tape.input(shape=(2, 3), name="x")
        self.y: Any = self.tape.input(shape=(3, 2), name="y")
        self.wide: Any = self.tape.input(shape=(2, 3), element=f64)
        self.count: Any = self.tape.input(shape=(2, 3), element=i32, name="count")
        self.mask: Any = self.tape.input(shape=(2, 3), element=bool_)
        self.one: Any = self.tape.parameter(1.0, name="one")
        self.half: Any = self.tape.input(shape=(2, 3), element=f16)
        self.other: Any = Tape().input(shape=(2, 3))
        self.dead: Any = sealed_value()


RECORDING = [
    Bad(
        "shape",
        errors.ShapeError,
        "add needs equal shapes, got (2, 3) and (3, 2)",
        lambda r: r.x + r.y,
    ),
    Bad(
        "product", errors.ShapeError, "matmul cannot multiply (2, 3) by (2, 3)", lambda r: r.x @ r.x
    ),
    Bad(
        "reshape",
        errors.ShapeError,
        "reshape cannot turn (2, 3) into (4,)",
        lambda r: r.x.reshape((4,)),
    ),
    Bad(
        "negative_extent",
        errors.ShapeError,
        "a shape needs extents of zero or more, none inferred, got (-6,)",
        lambda r: r.x.reshape((-6,)),
    ),
    Bad(
        "input_shape",
        errors.ShapeError,
        "a shape needs integers, got (2.5,)",
        lambda r: r.tape.input(shape=(2.5,), name="taken"),
    ),
    Bad(
        "box",
        errors.ShapeError,
        "narrow needs a box inside (2, 3), got (2, 3) from (0, 1)",
        lambda r: r.x.narrow(1, 1, 3),
    ),
    Bad(
        "broadcast",
        errors.ShapeError,
        "broadcast_to cannot spread (2, 3) over (3, 3)",
        lambda r: broadcast_to(r.x, (3, 3)),
    ),
    Bad(
        "concatenate",
        errors.ShapeError,
        "concatenate needs equal shapes but for axis 0, got (2, 3) and (3, 2)",
        lambda r: concat([r.x, r.y], 0),
    ),
    Bad(
        "stack",
        errors.ShapeError,
        "stack needs one value or more, got none",
        lambda r: stack([], 0),
    ),
    Bad(
        "axis",
        errors.ShapeError,
        "sum needs an axis of a rank-2 value, got axis 2",
        lambda r: r.x.sum(2),
    ),
    Bad(
        "repeated_axis",
        errors.ShapeError,
        "max needs distinct axes, got (0, -2)",
        lambda r: r.x.max((0, -2)),
    ),
    Bad(
        "axis_kind",
        errors.ShapeError,
        "log_softmax needs an integer axis, got 'rows'",
        lambda r: r.x.log_softmax("rows"),
    ),
    Bad(
        "element",
        errors.ElementError,
        "mul needs equal elements, got f32 and f64",
        lambda r: r.x * r.wide,
    ),
    Bad(
        "floats_alone",
        errors.ElementError,
        "map needs f64, f32, f16 or bf16, got i32",
        lambda r: r.count.exp(),
    ),
    Bad(
        "numbers_alone",
        errors.ElementError,
        "add needs a numeric element, got bool",
        lambda r: r.mask + r.mask,
    ),
    Bad(
        "select_mask",
        errors.ElementError,
        "select needs a bool mask, got f32",
        lambda r: r.x.select(r.x, r.x),
    ),
    Bad(
        "indices",
        errors.ElementError,
        "gather needs integer indices, got f32",
        lambda r: r.x.gather(r.x, 0),
    ),
    Bad(
        "literal",
        errors.ElementError,
        "a literal beside i32 must be an integer, got 0.5",
        lambda r: r.count + 0.5,
    ),
    Bad(
        "literal_range",
        errors.ElementError,
        "2147483648 is beyond i32, which holds -2147483648 to 2147483647: record in i64",
        lambda r: r.count + 2**31,
    ),
    Bad(
        "literal_too_large",
        errors.ElementError,
        "1e+300 is beyond f32, whose largest number is about 3.4028e+38:"
        " write inf, or record in f64",
        lambda r: r.x * 1e300,
    ),
    Bad(
        "literal_too_small",
        errors.ElementError,
        "-65520 is beyond f16, whose largest number is about 65504: write -inf, or record in f64",
        lambda r: r.half + -65520,
    ),
    Bad(
        "payload_too_large",
        errors.ElementError,
        "-1e+39 is beyond f32, whose largest number is about 3.4028e+38:"
        " write -inf, or record in f64",
        lambda r: r.tape.leaf([1.0, -1e39], name="taken"),
    ),
    Bad(
        "element_of_numpy",
        errors.ElementError,
        "an element is an Element such as f32, got <class 'numpy.float32'>",
        lambda r: Tensor([1.0], np.float32),  # type: ignore[arg-type]
    ),
    Bad(
        "operand",
        errors.ElementError,
        "an operand must be a Value or a number, got ndarray",
        lambda r: r.x + np.zeros((2, 3)),
    ),
    Bad(
        "operand_text",
        errors.ElementError,
        "an operand must be a Value or a number, got str",
        lambda r: r.x - "1",
    ),
    Bad(
        "payload",
        errors.ElementError,
        "a payload of f32 needs numbers, got 'one'",
        lambda r: r.tape.leaf("one", name="taken"),
    ),
    Bad(
        "payload_dtype",
        errors.ElementError,
        "a payload of f32 needs an array of float32, got float64",
        lambda r: r.tape.parameter(np.zeros(2), element=f32, name="taken"),
    ),
    Bad(
        "unknown_dtype",
        errors.ElementError,
        f"no element is stored as complex64; {ELEMENTS}",
        lambda r: r.tape.leaf(np.zeros(2, np.complex64)),
    ),
    Bad(
        "foreign_value",
        errors.SymbolError,
        "add got a value of another tape",
        lambda r: r.x + r.other,
    ),
    Bad(
        "foreign_symbol",
        errors.SymbolError,
        "symbol %0 belongs to another recording",
        lambda r: r.tape.value(r.other.symbol),
    ),
    Bad(
        "foreign_target",
        errors.SymbolError,
        "the value belongs to another tape",
        lambda r: r.tape.differentiate(r.other, [r.one]),
    ),
    Bad(
        "name_taken",
        errors.SymbolError,
        "the name 'x' is already taken",
        lambda r: r.tape.leaf(1.0, name="x"),
    ),
    Bad("no_name", errors.SymbolError, "no value is named 'z'", lambda r: r.tape.value("z")),
    Bad("dead_value", errors.PhaseError, SEALED, lambda r: r.dead + 1.0),
    Bad("dead_name", errors.PhaseError, SEALED, lambda r: r.dead.named("taken")),
    Bad(
        "pickled_tape",
        errors.PhaseError,
        "a tape cannot be pickled: seal it and pickle the network",
        lambda r: pickle.dumps(r.x),
    ),
    Bad(
        "target_shape",
        errors.ShapeError,
        "a gradient needs a rank-0 target, got f32[2, 3] %0 'x'",
        lambda r: r.tape.differentiate(r.x, [r.x]),
    ),
    Bad(
        "wrt_element",
        errors.ElementError,
        "differentiate needs floating values, got %3 'count' of i32",
        lambda r: r.tape.differentiate(r.one, [r.count]),
    ),
]


@pytest.mark.parametrize("bad", RECORDING, ids=lambda bad: str(bad.name))
def test_a_mistake_is_told_at_the_line_that_records_it(bad: Bad) -> None:
    recording = Recording()
    tape = recording.tape
    before = len(tape.columns.forms), dict(tape.columns.names), dict(tape.columns.labels)
    with pytest.raises(bad.error) as caught:
        bad.action(recording)
    assert type(caught.value) is bad.error
    assert str(caught.value) == bad.message
    assert innermost_of_the_user(caught.value).f_code is bad.action.__code__
    assert (len(tape.columns.forms), tape.columns.names, tape.columns.labels) == before
    # The recording goes on, the name is still free, and what was recorded runs.
    total = ((recording.x @ recording.y).sum() * recording.one).named("taken")
    network = tape.into_network()
    ones = np.ones((2, 3), np.float32)
    run = network.entry([total.symbol]).lower().forward(None, {"x": ones, "y": ones.T})
    assert holds(run.of("taken"), 12.0, f32)


def test_messages_have_no_full_stop() -> None:
    assert [bad.name for bad in RECORDING if bad.message.endswith(".")] == []


def test_a_shape_of_a_composite_is_told_at_its_call() -> None:
    empty = Tape(locations=True).input(shape=(0, 2))
    with pytest.raises(errors.ShapeError) as caught:
        mean(empty)
    assert str(caught.value) == "mean needs one term or more, got (0, 2) over axes None"
    assert Path(innermost_of_the_user(caught.value).f_code.co_filename) == Path(__file__)
