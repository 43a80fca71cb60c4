"""What the builder refuses, each at the call that is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from topos.errors import ArgumentError, ElementError, VerifyError
from topos.stablehlo import Builder, Value, dialect

REFUSED: list[tuple[Callable[[Builder, Value, Value], object], type[Exception], str]] = [
    (lambda b, x, y: dialect.add(x, y), VerifyError, "stablehlo.add needs operands of one shape"),
    (lambda b, x, y: dialect.add(x, 1.0), ArgumentError, "1.0 is neither: constant"),
    (lambda b, x, y: dialect.add(x), VerifyError, "stablehlo.add needs 2 operands, got 1"),
    (
        lambda b, x, y: dialect.transpose(x, dims=(1, 0)),
        ArgumentError,
        "stablehlo.transpose has no attribute dims; its attributes: permutation",
    ),
    (
        lambda b, x, y: dialect.transpose(x),
        ArgumentError,
        "stablehlo.transpose needs the attribute permutation: pass permutation=(0, 1)",
    ),
    (
        lambda b, x, y: dialect.convolution(x, y, dimension_numbers="[b, f]x[i, o]->[b, f]"),
        ArgumentError,
        "needs the attributes feature_group_count and batch_group_count: pass "
        "feature_group_count=1, batch_group_count=1",
    ),
    (lambda b, x, y: dialect.reshape(x), VerifyError, "needs the type of its result"),
    (lambda b, x, y: dialect.no_such(x), AttributeError, "no operation is called stablehlo"),
    (lambda b, x, y: dialect.negte(x), AttributeError, "did you mean negate?"),
    (lambda b, x, y: dialect.return_(x), ArgumentError, "is not written by a call"),
    (
        lambda b, x, y: dialect.transpose(x, permutation=(1.5, 0)),
        ArgumentError,
        "(0, 1), got (1.5",
    ),
    (lambda b, x, y: dialect.add(x, x, result="tensor<3xf32>"), VerifyError, "got tensor<3xf32>"),
    (lambda b, x, y: b.argument((-1,), "f32"), ArgumentError, "an extent is an integer of 0"),
    (lambda b, x, y: b.argument((1,), "f32", name="arg0"), ArgumentError, "called arg0 already"),
    (lambda b, x, y: b.argument((1,), "f32", name="1"), ArgumentError, "a name is a letter"),
    (lambda b, x, y: b.constant(1e40, "f32"), ElementError, "f32 holds not every element"),
    (lambda b, x, y: b.constant(1j, "f32"), ElementError, "f32 holds not every element"),
    (lambda b, x, y: bool(x), ArgumentError, "%arg0 is known in a run only"),
    (lambda b, x, y: dialect.erf(x), AttributeError, "did you mean chlo.erf?"),
    (lambda b, x, y: b.constant(300, "i8"), ElementError, "i8 holds not every element of 300"),
    (
        lambda b, x, y: dialect.reduce(x, b.constant(0, "f32"), lambda a: a, dimensions=(0,)),
        ArgumentError,
        "a region's function takes 2 values",
    ),
    (
        lambda b, x, y: dialect.reduce(x, b.constant(0, "i32"), dialect.add, dimensions=(0,)),
        VerifyError,
        "reduce needs tensor<f32> as the initial value of its input tensor<2x3xf32>, got tensor<i3",
    ),
    (
        lambda b, x, y: dialect.reduce(x, b.constant([0.0], "f32"), dialect.add, dimensions=(0,)),
        VerifyError,
        "reduce needs tensor<f32> as the initial value of its input tensor<2x3xf32>, got tensor<1x",
    ),
    (
        lambda b, x, y: dialect.reduce_window(
            x, b.constant(0, "i32"), dialect.add, window_dimensions=(1, 1)
        ),
        VerifyError,
        "reduce_window needs tensor<f32> as the initial value of its input tensor<2x3xf32>, got",
    ),
    (
        lambda b, x, y: dialect.reduce(x, b.constant(0.0), dialect.add, dimensions=(0,)),
        VerifyError,
        "got tensor<f64>, tensor<f32>; stablehlo.reduce has the initial value tensor<f64> for "
        "its input tensor<2x3xf32>, and its body takes both",
    ),
    (
        lambda b, x, y: dialect.select_and_scatter(
            x, x, b.constant(0, "i32"), dialect.compare, dialect.add
        ),
        VerifyError,
        "needs tensor<f32> as the initial value of its source tensor<2x3xf32>, got tensor<i32>",
    ),
    (
        lambda b, x, y: dialect.scatter(
            x,
            b.constant([[0]], "i32"),
            b.constant([[1]], "i8"),
            dialect.add,
            scatter_dimension_numbers={},
        ),
        VerifyError,
        "scatter needs updates of f32 for its input tensor<2x3xf32>, got tensor<1x1xi8>",
    ),
    (
        lambda b, x, y: dialect.chlo.scan(
            x,
            b.constant(np.zeros(3), "i32"),
            dialect.add,
            operand_segment_sizes=(1, 1),
            result_segment_sizes=(0, 1),
            dimension=0,
        ),
        VerifyError,
        "chlo.scan has the initial value tensor<3xi32> for its input tensor<2x3xf32>, and its body",
    ),
    (
        lambda b, x, y: dialect.while_(x, dialect.negate),
        ArgumentError,
        "while needs 2 functions (condition, then body) as its regions, got 1",
    ),
    (lambda b, x, y: b.argument("f99"), ArgumentError, "a type is spelled as in 'tensor<2x3xf32>'"),
    (lambda b, x, y: b.constant(np.array("text")), ElementError, "no tensor has elements of"),
    (lambda b, x, y: b.call("missing", x), ArgumentError, "no function called 'missing'"),
    (lambda b, x, y: b.module(), ArgumentError, "@main needs its results"),
    (
        lambda b, x, y: dialect.iota(iota_dimension=0, result="tensor<3xi32>"),
        ArgumentError,
        "no operand that tells where it stands: pass builder=",
    ),
    (
        lambda b, x, y: dialect.add(x, Builder().argument((2, 3), "f32")),
        ArgumentError,
        "is a value of another builder",
    ),
    (lambda b, x, y: finished(b).argument(x.type), ArgumentError, "none is open to take an argum"),
    (lambda b, x, y: b.returns(Builder().argument(x.type)), ArgumentError, "of another builder"),
    (lambda b, x, y: b.returns(1), ArgumentError, "an operand is a Value of this builder, got 1"),  # type: ignore[arg-type]
    (lambda b, x, y: finished(b).returns(x), ArgumentError, "every function has returned"),
    (
        lambda b, x, y: finished(b).add("stablehlo.negate", x),
        ArgumentError,
        "in no function",
    ),
    (lambda b, x, y: inside(b, x, lambda: b.argument(F32)), ArgumentError, "no argument is added"),
    (lambda b, x, y: inside(b, x, lambda: b.returns(x)), ArgumentError, "a region ends with what"),
    (
        lambda b, x, y: opened(b, "main"),
        ArgumentError,
        "a function needs a name of its own, got '",
    ),
    (lambda b, x, y: opened(b, "f", "odd"), ArgumentError, "is public, private, nested, got 'odd'"),
    (lambda b, x, y: opened(b, "f"), ArgumentError, "@f needs its results: call returns(...) bef"),
    (lambda b, x, y: b.add("stablehlo.negate", 1), ArgumentError, "an operand is a Value of this"),  # type: ignore[arg-type]
    (lambda b, x, y: b.add("x.y"), ArgumentError, "no operation is called 'x.y'"),
    (lambda b, x, y: b.add("stablehlo.add", x, results=1), ArgumentError, "a list of types as re"),  # type: ignore[arg-type]
    (lambda b, x, y: b.add("stablehlo.add", x, regions=1), ArgumentError, "a list of functions as"),  # type: ignore[arg-type]
    (lambda b, x, y: b.add("stablehlo.add", attributes=1), ArgumentError, "takes a dictionary as"),  # type: ignore[arg-type]
    (lambda b, x, y: dialect.add(x, x, attributes=1), ArgumentError, "takes a dictionary as attr"),
    (
        lambda b, x, y: dialect.add(x, x, builder=1),
        ArgumentError,
        "takes a Builder as builder",
    ),
    (
        lambda b, x, y: dialect.optimization_barrier(x, y, result=[x.type]),
        ArgumentError,
        "stablehlo.optimization_barrier has 2 results, and 1 are stated",
    ),
]
F32 = "tensor<f32>"


def finished(b: Builder) -> Builder:
    b.returns()
    return b


def opened(b: Builder, name: str, visibility: str = "private") -> None:
    with b.function(name, visibility=visibility):
        pass


def inside(b: Builder, x: Value, act: Callable[[], object]) -> None:
    """Acts in the region of an operation."""
    dialect.reduce(x, b.constant(0, "f32"), lambda one, other: act() or one, dimensions=(0,))


@pytest.mark.parametrize(("call", "error", "told"), REFUSED, ids=[told for *_, told in REFUSED])
def test_a_mistake_is_refused_at_the_call(
    call: Callable[[Builder, Value, Value], object], error: type[Exception], told: str
) -> None:
    b = Builder()
    x, y = b.argument((2, 3), "f32"), b.argument((3, 2), "f32")
    with pytest.raises(error) as caught:
        call(b, x, y)
    assert told in str(caught.value)
