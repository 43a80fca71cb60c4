"""Composites: the formulas of numpy, over tensors and recorded values alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.exact import exactly, holds, same
from topos import (
    Tape,
    Tensor,
    absolute,
    broadcast_to,
    concat,
    f32,
    f64,
    gelu,
    gelu_tanh,
    i64,
    mean,
    relu,
    silu,
    softmax,
    stack,
    variance,
)
from topos.errors import ElementError, ShapeError

Array = npt.NDArray[Any]
X = np.linspace(-3.0, 3.0, 24).reshape(2, 3, 4)


def normal(x: Array) -> Array:
    return np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.ravel()]).reshape(x.shape)


FORMULAS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "relu": (relu, lambda x: np.maximum(x, 0)),
    "absolute": (absolute, np.abs),
    "silu": (silu, lambda x: x / (1 + np.exp(-x))),
    "gelu": (gelu, lambda x: x * normal(x)),
    "gelu_tanh": (
        gelu_tanh,
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "mean": (mean, lambda x: np.asarray(x.mean())),
    "mean_axis": (lambda x: mean(x, -1), lambda x: x.mean(-1)),
    "mean_axes": (lambda x: mean(x, (2, 0)), lambda x: x.mean((0, 2))),
    "variance": (variance, lambda x: np.asarray(x.var())),
    "variance_axes": (lambda x: variance(x, (0, -1)), lambda x: x.var((0, 2))),
    "softmax": (
        lambda x: softmax(x, 1),
        lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    ),
    "broadcast_to": (
        lambda x: broadcast_to(x.narrow(1, 0, 1), (5, 2, 3, 4)),
        lambda x: np.broadcast_to(x[:, :1], (5, 2, 3, 4)),
    ),
    "concat": (lambda x: concat([x, x, -x], -2), lambda x: np.concatenate([x, x, -x], -2)),
    "stack": (lambda x: stack([x, -x], -1), lambda x: np.stack([x, -x], -1)),
    "stack_first": (lambda x: stack([x, -x], 0), lambda x: np.stack([x, -x], 0)),
}


@pytest.mark.parametrize(("ours", "theirs"), FORMULAS.values(), ids=FORMULAS)
def test_a_composite_is_its_formula(
    ours: Callable[[Any], Any], theirs: Callable[[Array], Array]
) -> None:
    result = ours(Tensor(X))
    wanted = theirs(X)
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("ours", [pair[0] for pair in FORMULAS.values()], ids=FORMULAS)
def test_a_composite_records_what_it_computes(ours: Callable[[Any], Any]) -> None:
    tape = Tape(element=f64)
    recorded = ours(tape.input(X)).symbol
    assert same(tape.into_network().forward().of(recorded), ours(Tensor(X)))


def test_relu_and_absolute_know_special_values() -> None:
    value = Tensor([-0.0, 0.0, -math.inf, math.inf, math.nan])
    assert holds(relu(value), [0.0, 0.0, 0.0, math.inf, math.nan], f32)
    assert holds(absolute(value), [0.0, 0.0, math.inf, math.inf, math.nan], f32)


def test_the_slope_of_relu_and_absolute_at_zero_is_one() -> None:
    tape = Tape()
    x = tape.parameter([0.0, -1.0], name="x")
    relu(x).sum().named("relu")
    absolute(x).sum().named("absolute")
    run = tape.into_network().forward()
    assert holds(run.backward("relu").of("x"), [1.0, 0.0], f32)
    assert holds(run.backward("absolute").of("x"), [1.0, -1.0], f32)


def test_a_mean_needs_terms_and_floats() -> None:
    tape = Tape()
    for axes, spelled in [(None, "None"), (0, "0"), ((0, 1), "(0, 1)")]:
        message = f"mean needs one term or more, got (0, 2) over axes {spelled}"
        with pytest.raises(ShapeError, match=exactly(message)):
            mean(tape.input(shape=(0, 2)), axes)
    assert mean(tape.input(shape=(0, 2)), 1).shape == (0,)
    with pytest.raises(
        ElementError, match=exactly("a literal beside i64 must be an integer, got 2.0")
    ):
        mean(tape.input(shape=(2,), element=i64))


def test_broadcast_to_fills_missing_axes_and_extents_of_one() -> None:
    x = Tape().input(shape=(3, 1))
    assert broadcast_to(x, (3, 1)) is x
    assert broadcast_to(x, (2, 3, 4)).shape == (2, 3, 4)
    assert broadcast_to(x, (3, 0)).shape == (3, 0)
    assert holds(broadcast_to(Tensor(2.0), (2,)), [2.0, 2.0], f32)
    assert holds(broadcast_to(Tensor([[1.0], [2.0]]), (2, 2)), [[1, 1], [2, 2]], f32)
    for shape in [(3,), (2, 1), (4, 3), (1, 3, 0, 1)]:
        message = f"broadcast_to cannot spread (3, 1) over {shape}"
        with pytest.raises(ShapeError, match=exactly(message)):
            broadcast_to(x, shape)


def test_joining_needs_values_of_one_shape() -> None:
    tape = Tape()
    x, y = tape.input(shape=(2,)), tape.input(shape=(3,))
    for name, join in [("concat", concat), ("stack", stack)]:
        with pytest.raises(ShapeError, match=exactly(f"{name} needs one value or more, got none")):
            join([], 0)
    with pytest.raises(
        ShapeError,
        match=exactly("concatenate needs equal shapes but for axis 0, got (1, 2) and (1, 3)"),
    ):
        stack([x, y], 0)
    with pytest.raises(
        ShapeError, match=exactly("stack needs an axis of a rank-2 value, got axis 2")
    ):
        stack([x, x], 2)
