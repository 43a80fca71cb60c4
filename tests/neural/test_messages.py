"""Mistakes with modules: class, whole message, and the user's own line."""

from __future__ import annotations

import numpy as np
import pytest

from tests.neural.mistakes import Mistake, Twice, Wrong, demand_told, named
from tests.project.bad_input import Bad
from topos import Adam, Clipped, Tape, errors, i64, init, record_step, relu
from topos.neural import (
    Activation,
    Dropout,
    Embedding,
    Linear,
    Mlp,
    Path,
    Sequential,
    affine,
    bce_with_logits,
    cross_entropy,
    mse,
    named_parameters,
)

XAVIER = init.xavier(1)

MESSAGES: list[Mistake] = [
    (
        errors.ShapeError,
        "affine needs a last axis of 2, got (4, 3)",
        lambda r: Linear(r.tape, 2, 5, weights=XAVIER).express(r.tape, r.rows),
    ),
    (
        errors.ShapeError,
        "affine needs weights [inputs, outputs], got (5,)",
        lambda r: affine(r.rows, r.bias),
    ),
    (
        errors.ShapeError,
        "affine needs a last axis of 3, got (5,)",
        lambda r: affine(r.rows.transpose(), r.rows, r.bias),
    ),
    (
        errors.ShapeError,
        "affine needs a last axis of 4, got ()",
        lambda r: affine(r.none, r.rows),
    ),
    (
        errors.ShapeError,
        "Linear needs inputs of 1 or more, got 0",
        lambda r: Linear(r.tape, 0, 5, weights=XAVIER),
    ),
    (
        errors.ShapeError,
        "Linear needs outputs of 1 or more, got 2.5",
        lambda r: Linear(r.tape, 1, 2.5, weights=XAVIER),  # type: ignore[arg-type]
    ),
    (
        errors.ShapeError,
        "Mlp needs two widths or more, got [3]",
        lambda r: Mlp(r.tape, [3], weights=XAVIER),
    ),
    (
        errors.ArgumentError,
        "dropout needs a rate below 1.0, got 1.0",
        lambda r: Dropout(r.tape, [4, 3], 1.0),
    ),
    (
        errors.ArgumentError,
        "dropout needs a rate of 0.0 or more, finite, got -0.5",
        lambda r: Dropout(r.tape, [4, 3], -0.5),
    ),
    (
        errors.ShapeError,
        "Dropout needs its own shape (4, 4), got (4, 3)",
        lambda r: Dropout(r.tape, [4, 4]).express(r.tape, r.rows),
    ),
    (
        errors.ElementError,
        "gather needs integer indices, got f32",
        lambda r: Embedding(r.tape, 4, 3, table=XAVIER).express(r.tape, r.rows),
    ),
    (
        errors.ShapeError,
        "cross_entropy needs labels (4,) beside logits (4, 3), got (2, 2)",
        lambda r: cross_entropy(r.rows, r.labels.reshape((2, 2))),
    ),
    (
        errors.ShapeError,
        "cross_entropy needs targets (4, 3), got (5,)",
        lambda r: cross_entropy(r.rows, r.bias),
    ),
    (
        errors.ElementError,
        "cross_entropy needs a floating element, got i64",
        lambda r: cross_entropy(r.labels, r.labels),
    ),
    (
        errors.ShapeError,
        "cross_entropy needs [..., classes], none empty, got ()",
        lambda r: cross_entropy(r.none, r.labels),
    ),
    (errors.ShapeError, "mse needs targets (4, 3), got (5,)", lambda r: mse(r.rows, r.bias)),
    (
        errors.ElementError,
        "bce_with_logits needs targets in f32, got i64",
        lambda r: bce_with_logits(r.bias, r.labels),
    ),
    (
        errors.ArgumentError,
        "Sequential at 0 needs a module, got the class Linear, which was not called",
        lambda _: Sequential(Linear),  # type: ignore[arg-type]
    ),
    (
        errors.ArgumentError,
        "named_parameters needs a module, got the class Activation, which was not called",
        lambda _: named_parameters(Activation),  # type: ignore[arg-type]
    ),
    (
        errors.ArgumentError,
        "Mlp between its layers needs a module, got the function relu, which was not called",
        lambda r: Mlp(r.tape, (3, 2), weights=XAVIER, activation=relu),  # type: ignore[arg-type]
    ),
    (
        errors.ArgumentError,
        "Linear needs an initializer such as init.xavier(1), got the function xavier, which was"
        " not called",
        lambda r: Linear(r.tape, 3, 5, weights=init.xavier),  # type: ignore[arg-type]
    ),
    (
        errors.ArgumentError,
        "Mlp needs an initializer such as init.xavier(1), got str",
        lambda r: Mlp(r.tape, (3, 5), weights="xavier"),  # type: ignore[arg-type]
    ),
    (
        errors.ElementError,
        "-1e+300 is beyond f32, whose largest number is about 3.4028e+38:"
        " write -inf, or record in f64",
        lambda r: Linear(r.tape, 3, 5, weights=init.constant(-1e300)),
    ),
    (
        errors.ElementError,
        "affine needs a Value or a Tensor, got float",
        lambda r: Linear(r.tape, 3, 5, weights=XAVIER).express(r.tape, 0.5),  # type: ignore[arg-type]
    ),
    (
        errors.ElementError,
        "Activation.GELU needs a Value or a Tensor, got ndarray",
        lambda _: Activation.GELU(np.ones(2)),  # type: ignore[type-var]
    ),
    (
        errors.ArgumentError,
        "record_step needs an optimizer such as Adam(1e-3), got the class Adam, which was not"
        " called",
        lambda r: record_step(r.tape, r.none, [r.none], Adam),
    ),
    (
        errors.ArgumentError,
        "Clipped needs an optimizer such as Adam(1e-3), got float",
        lambda _: Clipped(1.0, 1.0),
    ),
    (
        errors.ArgumentError,
        "record_step needs a sequence of parameters, such as topos.parameters(module), got Linear",
        lambda r: record_step(
            r.tape,
            r.none,
            Linear(r.tape, 3, 5, weights=XAVIER),
            Adam(),
        ),
    ),
    (
        errors.ArgumentError,
        "Sequential needs one module or more, got none",
        lambda _: Sequential(),
    ),
    (
        errors.ArgumentError,
        "Sequential at 1 needs a module, got int",
        lambda _: Sequential(Activation.TANH, 3),  # type: ignore[arg-type]
    ),
    (
        errors.SymbolError,
        "a module tree needs one parameter a path, got two at 0.weights",
        lambda r: named_parameters(Sequential(Twice(r.tape))),
    ),
    (
        errors.ArgumentError,
        "0.weights needs the symbol of a parameter, got ndarray",
        lambda _: named_parameters(Sequential(Wrong(np.zeros(2)))),
    ),
    (
        errors.ArgumentError,
        "0.blocks.0 needs a module, got str",
        lambda _: named_parameters(Sequential(Wrong("block"))),
    ),
    (
        errors.SymbolError,
        "a path needs names without dots or positions, got 'a.b'",
        lambda _: Path() / "a.b",
    ),
    (
        errors.SymbolError,
        "a path needs names without dots or positions, got -1",
        lambda _: Path() / -1,
    ),
    (
        errors.ArgumentError,
        "a seed needs an integer of 0 to 2**64 - 1, got -1",
        lambda _: init.normal(-1),
    ),
    (
        errors.ArgumentError,
        "a seed needs an integer of 0 to 2**64 - 1, got 1.5",
        lambda _: init.uniform(1.5),  # type: ignore[arg-type]
    ),
    (
        errors.ArgumentError,
        "uniform needs low of at most high, got 1.0 and 0.0",
        lambda _: init.uniform(1, 1.0, 0.0),
    ),
    (
        errors.ArgumentError,
        "normal needs a deviation of 0.0 or more, finite, got -1.0",
        lambda _: init.normal(1, -1.0),
    ),
    (
        errors.ArgumentError,
        "constant needs a number, finite, got inf",
        lambda _: init.constant(float("inf")),
    ),
    (
        errors.ShapeError,
        "xavier needs weights of two axes or more, none empty, got (3,)",
        lambda _: init.xavier(1)((3,)),
    ),
    (
        errors.ShapeError,
        "init needs extents of 0 or more, got -1",
        lambda _: init.zeros((-1,)),
    ),
    (
        errors.ArgumentError,
        "init needs a floating element, got i64",
        lambda _: init.zeros((1,), i64),
    ),
]


@pytest.mark.parametrize("bad", named(MESSAGES), ids=lambda bad: bad.name)
def test_a_mistake_is_told_at_the_users_line(bad: Bad) -> None:
    demand_told(bad, __name__)


def test_a_module_of_another_recording_is_refused() -> None:
    layer = Linear(Tape(), 3, 2, weights=XAVIER)
    tape = Tape()
    with pytest.raises(errors.SymbolError):
        layer.express(tape, tape.input(shape=(4, 3)))
