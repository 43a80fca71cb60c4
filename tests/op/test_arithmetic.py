"""Elementwise arithmetic: special values, ties, elements, shapes and messages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, bf16, bool_, f16, f32, f64, i32, i64
from topos.compiler import DIFFERENTIABLE
from topos.errors import ElementError, ShapeError
from topos.op import Add, Div, Maximum, Minimum, Mul, Neg, Power, Step, Sub

INF, NAN = math.inf, math.nan
BINARY = [Add(), Sub(), Mul(), Div(), Maximum(), Minimum(), Step(), Power()]
VALUES: list[tuple[Callable[[Any, Any], Any], list[float], list[float], list[float]]] = [
    (lambda x, y: x + y, [1, -0.0, -0.0, INF, NAN], [2, -0.0, 0, -INF, 1], [3, -0.0, 0, NAN, NAN]),
    (lambda x, y: x - y, [1, 0.0, -0.0, INF, NAN], [2, 0.0, 0, INF, 1], [-1, 0, -0.0, NAN, NAN]),
    (lambda x, y: x * y, [3, -0.0, INF, INF, NAN], [2, 5, 0, -2, 0], [6, -0.0, NAN, -INF, NAN]),
    (lambda x, y: x / y, [3, 1, -1, 0, INF], [2, -0.0, INF, 0, INF], [1.5, -INF, -0.0, NAN, NAN]),
    (
        lambda x, y: x.maximum(y),
        [1, -0.0, 0.0, NAN, 1, -INF],
        [2, 0.0, -0.0, 1, NAN, INF],
        [2, 0.0, 0.0, NAN, NAN, INF],
    ),
    (
        lambda x, y: x.minimum(y),
        [1, -0.0, 0.0, NAN, 1, -INF],
        [2, 0.0, -0.0, 1, NAN, INF],
        [1, -0.0, -0.0, NAN, NAN, -INF],
    ),
    (lambda x, y: x.step(y), [1, 2, -0.0, NAN, 1, INF], [1, 3, 0.0, 1, NAN, 5], [1, 0, 1, 0, 0, 1]),
    (
        lambda x, y: x**y,
        [2, 0.0, -0.0, -2, -2, NAN, 1, 4, 0.0, -1],
        [3, 0.0, -3, 3, 0.5, 0, NAN, -0.5, -2, INF],
        [8, 1, -INF, -8, NAN, 1, 1, 0.5, INF, 1],
    ),
]


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
@pytest.mark.parametrize(
    ("formula", "left", "right", "wanted"),
    VALUES,
    ids=["add", "sub", "mul", "div", "maximum", "minimum", "step", "power"],
)
def test_special_values_follow_the_standard(
    element: Element,
    formula: Callable[[Any, Any], Any],
    left: list[float],
    right: list[float],
    wanted: list[float],
) -> None:
    assert holds(formula(Tensor(left, element), Tensor(right, element)), wanted, element)


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_negation_changes_the_sign_bit_alone(element: Element) -> None:
    value = Tensor([1.0, -0.0, 0.0, math.inf, math.nan], element)
    negated = (-value).numpy().view(f"u{element.dtype.itemsize}")
    sign = 1 << (8 * element.dtype.itemsize - 1)
    assert (negated ^ value.numpy().view(negated.dtype) == sign).all()


@pytest.mark.parametrize(("element", "top"), [(i32, 2**31 - 1), (i64, 2**63 - 1)], ids=str)
def test_integers_wrap_around(element: Element, top: int) -> None:
    value = Tensor([top, -top - 1], element)
    assert holds(value + 1, [-top - 1, -top], element)
    assert holds(value - value, [0, 0], element)
    assert holds(value * 2, [-2, 0], element)
    assert holds(-value, [-top, -top - 1], element)
    assert holds(value.step(0), [1, 0], element)
    assert holds(value.maximum(0).minimum(5), [5, 0], element)


def test_a_truth_value_has_maximum_and_minimum() -> None:
    left, right = Tensor([1, 1, 0, 0], bool_), Tensor([1, 0, 1, 0], bool_)
    assert holds(left.maximum(right), [1, 1, 1, 0], bool_)
    assert holds(left.minimum(right), [1, 0, 0, 0], bool_)


@pytest.mark.parametrize("element", [f16, bf16], ids=str)
def test_a_short_float_rounds_once(element: Element) -> None:
    # 1 + 2**-12 is exact in the computing format and a tie or less in the stored one.
    tiny = Tensor(2.0**-12, element)
    assert holds(Tensor(1.0, element) + tiny, 1.0, element)
    third = Tensor(1.0, element) / Tensor(3.0, element)
    assert holds(third, 0.333251953125 if element is f16 else 0.333984375, element)


@pytest.mark.parametrize("operation", BINARY, ids=lambda operation: str(operation.name))
def test_operands_have_one_shape_and_one_element(operation: Any) -> None:
    tape = Tape()
    pair, triple = tape.input(shape=(2,)), tape.input(shape=(3,))
    wide = tape.input(shape=(2,), element=f64)
    with pytest.raises(
        ShapeError, match=exactly(f"{operation.name} needs equal shapes, got (2,) and (3,)")
    ):
        pair.express(operation, pair, triple)
    with pytest.raises(
        ElementError, match=exactly(f"{operation.name} needs equal elements, got f32 and f64")
    ):
        pair.express(operation, pair, wide)
    with pytest.raises(ShapeError, match=exactly(f"{operation.name} takes 2 operands, got 1")):
        pair.express(operation, pair)
    assert pair.express(operation, pair, pair).type == pair.type


@pytest.mark.parametrize(
    ("operation", "takers"), [(Div(), "a floating element"), (Power(), "f64, f32, f16 or bf16")]
)
def test_division_and_power_are_for_floats(operation: Any, takers: str) -> None:
    count = Tape().input(shape=(2,), element=i32)
    message = f"{operation.name} needs {takers}, got i32"
    with pytest.raises(ElementError, match=exactly(message)):
        count.express(operation, count, count)


@pytest.mark.parametrize(
    "operation", [Add(), Sub(), Mul(), Step()], ids=lambda operation: str(operation.name)
)
def test_arithmetic_is_not_for_truth_values(operation: Any) -> None:
    mask = Tape().input(shape=(2,), element=bool_)
    with pytest.raises(
        ElementError, match=exactly(f"{operation.name} needs a numeric element, got bool")
    ):
        mask.express(operation, mask, mask)
    with pytest.raises(ElementError, match=exactly("neg needs a numeric element, got bool")):
        mask.express(Neg(), mask)


@pytest.mark.parametrize("operation", BINARY, ids=lambda operation: str(operation.name))
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_rank_zero_and_empty_values_are_values(operation: Any, shape: tuple[int, ...]) -> None:
    value = Tensor(1.0).broadcast(shape) if shape else Tensor(1.0)
    result = value.express(operation, value, value)
    assert result.type == value.type


@pytest.mark.parametrize(
    ("formula", "left", "right"),
    [
        (lambda x, y: x.maximum(y), [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]),
        (lambda x, y: x.minimum(y), [1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]),
    ],
    ids=["maximum", "minimum"],
)
def test_a_tie_gives_the_gradient_to_the_left(
    formula: Callable[[Any, Any], Any], left: list[float], right: list[float]
) -> None:
    tape = Tape()
    x = tape.parameter([3.0, math.nan, 1.0, -0.0], name="x")
    y = tape.parameter([3.0, 1.0, 2.0, 1.0], name="y")
    formula(x, y).sum().named("loss")
    gradients = tape.into_network().forward().backward("loss")
    assert holds(gradients.of("x"), left, f32)
    assert holds(gradients.of("y"), right, f32)


def test_power_has_finite_slopes_at_zero() -> None:
    tape = Tape()
    x = tape.parameter([0.0, 0.0, 2.0], name="x")
    y = tape.parameter([0.0, 2.0, 3.0], name="y")
    (x**y).sum().named("loss")
    gradients = tape.into_network().forward().backward("loss")
    assert holds(gradients.of("x"), [0.0, 0.0, 12.0], f32)
    assert holds(gradients.of("y"), [0.0, 0.0, 8.0 * math.log(2.0)], f32)


def test_a_line_of_describe_is_the_operation_and_its_operands() -> None:
    tape = Tape()
    x = tape.input(shape=(2,), name="x")
    (x + x).minimum(-x)
    lines = tape.into_network().describe().splitlines()
    assert lines[2:] == [
        "%1 = add %0 %0 : f32[2]",
        "%2 = neg %0 : f32[2]",
        "%3 = minimum %1 %2 : f32[2]",
    ]
