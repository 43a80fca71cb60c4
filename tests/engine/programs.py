"""Random small programs over the vocabulary, drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from topos import Element, Tape, Tensor, Value, f16, f32, f64, gelu, i32, relu, softmax
from topos.compiler import DIFFERENTIABLE

# Ordinary numbers beside the ends of every format: NaNs arise in the middle of many programs.
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-8, 6e4, -6e4, float("inf"), 0.1)
NARROW = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 0.1)

UNARY: tuple[Callable[[Value], Value], ...] = (
    lambda x: -x,
    lambda x: x.exp(),
    lambda x: x.ln(),
    lambda x: x.sqrt(),
    lambda x: x.rsqrt(),
    lambda x: x.tanh(),
    lambda x: x.sin(),
    lambda x: x.cos(),
    lambda x: x.erf(),
    lambda x: x.logistic(),
    lambda x: x.log1p(),
    lambda x: x.expm1(),
    lambda x: x * x,
    lambda x: x / x,
    lambda x: x - x,
    lambda x: x * 0.0,
    lambda x: 1.0 / x,
    lambda x: x**2.0,
    lambda x: x.transpose(),
    lambda x: x.reshape((x.shape[1], x.shape[0])),
    lambda x: x.permute((1, 0)),
    lambda x: x.log_softmax(1),
    lambda x: x.log_sum_exp(0).broadcast_along((0,), (x.shape[0],)),
    lambda x: x.sum(1).broadcast_along((1,), (x.shape[1],)),
    lambda x: x.max(0).broadcast_along((0,), (x.shape[0],)),
    lambda x: x.max().broadcast(x.shape),
    lambda x: x.sum().broadcast(x.shape),
    lambda x: x.pad((1, 0), (0, 1)).narrow(0, 1, x.shape[0]).narrow(1, 0, x.shape[1]),
    lambda x: x.unfold(0, 1, 1).sum(2),
    lambda x: x.unfold(1, 2, 1).fold(1, 1, x.shape[1]),
    lambda x: x.greater(0.0).select(x, x.fill(0.5)),
    lambda x: x.convert(f16).convert(x.element),
    lambda x: x.convert(i32).convert(x.element),
    lambda x: x.concatenate([x], 0).narrow(0, 1, x.shape[0]),
    lambda x: x.gather(x.tape.leaf([1, 0], element=i32), 0).pad((0, 0), (x.shape[0] - 2, 0)),
    lambda x: x.narrow(1, 0, 2).scatter(x.tape.leaf([1, 1], element=i32), 1, x.shape[1]),
    relu,
    gelu,
    lambda x: softmax(x, 0),
)
BINARY: tuple[Callable[[Value, Value], Value], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / y,
    lambda x, y: x**y,
    lambda x, y: x.maximum(y),
    lambda x, y: x.minimum(y),
    lambda x, y: x.step(y) * x,
    lambda x, y: x.less(y).select(x, y),
    lambda x, y: (x @ y.transpose()).sum(1).broadcast_along((1,), (x.shape[1],)),
)


class Step(NamedTuple):
    """One line of a program: the operation's place in its table, and two operands' places."""

    operation: int
    left: int
    right: int


class Program(NamedTuple):
    """Two parameters and an input of one shape, and the lines that combine them."""

    element: Element
    payloads: tuple[tuple[tuple[float, ...], ...], ...]
    steps: tuple[Step, ...]

    def record(self, tape: Tape) -> tuple[list[Value], Value]:
        """Records the program; returns the parameters and a rank-0 loss that reads the end."""
        first, second, third = (Tensor([*map(list, rows)], self.element) for rows in self.payloads)
        parameters = [tape.parameter(first, name="first"), tape.parameter(second, name="second")]
        values = [*parameters, tape.input(third, name="third")]
        for step in self.steps:
            values.append(_express(step, values))
        return parameters, values[-1].sum()


def _express(step: Step, values: list[Value]) -> Value:
    left, right = values[step.left % len(values)], values[step.right % len(values)]
    if step.operation < len(UNARY):
        return UNARY[step.operation](left)
    operation = BINARY[step.operation - len(UNARY)]
    # A transpose earlier on may have turned one of the two.
    return operation(left, right if right.shape == left.shape else right.transpose())


def _payload(shape: tuple[int, int], numbers: tuple[float, ...]) -> Any:
    row = st.tuples(*[st.sampled_from(numbers)] * shape[1])
    return st.tuples(*[row] * shape[0])


@st.composite
def programs(draw: st.DrawFn, *, longest: int = 6) -> Program:
    """Draws a program of up to `longest` lines over one floating element."""
    element = draw(st.sampled_from([*DIFFERENTIABLE, f64, f32]))
    numbers = draw(st.sampled_from([NUMBERS, NARROW]))
    payload = _payload((2, 3), numbers)
    operations = st.integers(0, len(UNARY) + len(BINARY) - 1)
    line = st.builds(Step, operations, st.integers(0, 8), st.integers(0, 8))
    steps = draw(st.lists(line, min_size=1, max_size=longest))
    return Program(element, draw(st.tuples(payload, payload, payload)), tuple(steps))
