"""The builder: types inferred, mistakes refused at the call, regions and functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.stablehlo.rule_texts import mlir_accepts
from topos import runtimes
from topos.errors import ArgumentError
from topos.stablehlo import Builder, Module, Value, dialect, parse
from topos.stablehlo.definition import Definition
from topos.stablehlo.signatures import help_of, signature_of

INTERPRETER = runtimes.load("interpreter")


def run(module: Module, *arguments: Any) -> list[np.ndarray]:
    return list(INTERPRETER.compile(str(module))(*arguments))


def softmax(b: Builder) -> None:
    x = b.argument((2, 5), "f32", name="x")
    shape = {"broadcast_dimensions": (0,), "result": "tensor<2x5xf32>"}
    least = b.constant(-np.inf, "f32")
    peak = dialect.reduce(x, least, dialect.maximum, dimensions=(1,))
    raised = dialect.exponential(dialect.subtract(x, dialect.broadcast_in_dim(peak, **shape)))
    total = dialect.reduce(raised, b.constant(0, "f32"), dialect.add, dimensions=(1,))
    b.returns(dialect.divide(raised, dialect.broadcast_in_dim(total, **shape)))


def sorted_pairs(b: Builder) -> None:
    keys, values = b.argument((6,), "f32"), b.argument((6,), "i32")

    def less(a: Value, c: Value, *_: Value) -> Any:
        return dialect.compare(a, c, comparison_direction="LT")

    b.returns(*dialect.sort(keys, values, less, dimension=0, is_stable=True))


def branches(b: Builder) -> None:
    x = b.argument((3,), "f32")
    zero = b.constant(0.0, "f32")
    total = dialect.reduce(x, zero, dialect.add, dimensions=(0,))
    test = dialect.compare(total, zero, comparison_direction="GT")
    b.returns(dialect.if_(test, lambda: x, lambda: dialect.negate(x)))


def pooled(b: Builder) -> None:
    x = b.argument((1, 4, 4, 1), "f32")
    least = b.constant(-np.inf, "f32")
    b.returns(
        dialect.reduce_window(
            x, least, dialect.maximum, window_dimensions=(1, 2, 2, 1), window_strides=(1, 2, 2, 1)
        )
    )


def gathered(b: Builder) -> None:
    x, at = b.argument((5, 3), "f32"), b.argument((2, 1), "i32")
    numbers: dict[str, Any] = {"offset_dims": (1,), "collapsed_slice_dims": (0,)}
    numbers |= {"start_index_map": (0,), "index_vector_dim": 1}
    b.returns(dialect.gather(x, at, dimension_numbers=numbers, slice_sizes=(1, 3)))


def product(b: Builder) -> None:
    x, y = b.argument((2, 4, 3), "f32"), b.argument((2, 3, 5), "f32")
    numbers = {
        "lhs_batching_dimensions": (0,),
        "rhs_batching_dimensions": (0,),
        "lhs_contracting_dimensions": (2,),
        "rhs_contracting_dimensions": (1,),
    }
    b.returns(dialect.dot_general(x, y, dot_dimension_numbers=numbers))


G = np.random.default_rng(0)
X5, X3, X4 = (G.normal(size=s).astype(np.float32) for s in ((2, 5), (3,), (1, 4, 4, 1)))
KEYS, VALUES = G.normal(size=6).astype(np.float32), np.arange(6, dtype=np.int32)
L, R = G.normal(size=(2, 4, 3)).astype(np.float32), G.normal(size=(2, 3, 5)).astype(np.float32)
AT, T = np.array([[3], [1]], np.int32), G.normal(size=(5, 3)).astype(np.float32)


def by_hand_softmax(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


CASES = [
    (softmax, (X5,), [by_hand_softmax(X5)]),
    (sorted_pairs, (KEYS, VALUES), [np.sort(KEYS), VALUES[np.argsort(KEYS, kind="stable")]]),
    (branches, (X3,), [X3 if X3.sum() > 0 else -X3]),
    (pooled, (X4,), [X4.reshape(1, 2, 2, 2, 2, 1).max(axis=(2, 4))]),
    (gathered, (T, AT), [T[AT[:, 0]]]),
    (product, (L, R), [L @ R]),
]


@pytest.mark.parametrize(("write", "arguments", "wanted"), CASES, ids=lambda each: "")
def test_what_is_built_runs_as_by_hand(
    write: Callable[[Builder], None], arguments: tuple[np.ndarray, ...], wanted: list[np.ndarray]
) -> None:
    b = Builder("built")
    write(b)
    module = b.module()
    assert str(parse(module.text(generic=True))) == str(module)
    for got, want in zip(run(module, *arguments), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert mlir_accepts(str(module))


@pytest.mark.parametrize(
    "array",
    [
        np.array([np.nan, -np.inf, -0.0, 1e-45, 0.1], np.float32),
        np.full((3, 2), 7, np.uint8),
        np.arange(100, dtype=np.float64).reshape(4, 25) / 7,
        np.array([True, False]),
        np.array([1.5 - 2j, np.inf + 0j], np.complex64),
        np.array([1.5, -2.25], ml_dtypes.bfloat16),
        np.arange(200).astype(np.int64),
        np.zeros((0, 3), np.float32),
    ],
    ids=lambda array: f"{array.dtype}-{array.size}",
)
def test_a_constant_keeps_the_bits_of_its_array(array: np.ndarray) -> None:
    b = Builder()
    b.returns(b.constant(array))
    (result,) = run(b.module())
    assert (result.dtype, result.shape) == (array.dtype, array.shape)
    assert result.tobytes() == array.tobytes()


def test_functions_are_written_called_and_forgotten_where_they_fail() -> None:
    b = Builder("m")
    x = b.argument((2,), "f32", name="arg1")
    assert (x.name, b.argument("tensor<f32>").name, b.argument("tensor<f32>").name) == (
        "%arg1",
        "%arg2",
        "%arg3",
    )
    with b.function("twice", visibility="nested"):
        y = b.argument((2,), "f32")
        b.returns(dialect.add(y, y), dialect.negate(y))
    with pytest.raises(ZeroDivisionError), b.function("failed"):
        raise ZeroDivisionError
    two = b.call("twice", x)
    assert isinstance(two, tuple)
    assert [each.name for each in two] == ["%2#0", "%2#1"]
    assert repr(two[1]) == "Value(%2#1: tensor<2xf32>)"
    b.returns(*dialect.optimization_barrier([two[0], x]))
    text = str(b.module())
    assert "func.func nested @twice(%arg0: tensor<2xf32>)" in text
    assert "%2:2 = call @twice(%arg1)" in text
    assert "@failed" not in text
    made = run(b.module(), np.array([1, 2], np.float32), np.float32(0), np.float32(0))
    assert [each.tolist() for each in made] == [[2, 4], [1, 2]]


def test_help_tells_what_may_be_left_out() -> None:
    told = inspect.getdoc(dialect.convolution) or ""
    assert "Operands: input, kernel." in told
    assert "feature_group_count: an integer of i64, such as 1; must be given." in told
    assert "(0, 1); may be left out, and is then ()." in told
    assert "one of EQ, NE, LT, LE, GT, GE, such as 'EQ'; must" in str(dialect.compare.__doc__)
    loop = str(dialect.while_.__doc__)
    assert loop.index("in this order:\n    condition: takes") < loop.index("\n    body: takes")
    assert "Operands: inputs, then indices, then updates for" in str(dialect.scatter.__doc__)
    signature = "(operands, /, *, permutation, result=None, attributes=None, builder=None)"
    assert str(inspect.signature(dialect.transpose)) == signature.replace("operands", "operand")
    assert "Result: pass its type as result=, which nothing else tells." in dialect.reshape.__doc__
    assert "Result: of the first operand's element, unless" in dialect.dot_general.__doc__
    for definition in dialect.definitions().values():
        assert help_of(definition)
        assert signature_of(definition)
        # The facts that help tells are there: what is given in order, and by whom.
        written = definition.block_types is not Definition.block_types
        assert bool(definition.region_order) >= written


def test_a_value_of_a_region_that_has_ended_is_refused() -> None:
    b = Builder()
    x = b.argument((3,), "f32")
    kept: list[Value] = []

    def body(left: Value, right: Value) -> Value:
        kept.append(dialect.add(left, right))
        return kept[0]

    dialect.reduce(x, b.constant(0, "f32"), body, dimensions=(0,))
    with pytest.raises(ArgumentError, match="was made in a region or function that has ended"):
        dialect.negate(kept[0])


def test_a_function_sees_no_value_of_another() -> None:
    b = Builder()
    x = b.argument((3,), "f32")
    with pytest.raises(ArgumentError, match="%arg0 was made in another function"), b.function("f"):
        dialect.negate(x)


def test_a_region_that_raises_leaves_no_trace() -> None:
    b = Builder()
    x = b.argument((3,), "f32")
    with pytest.raises(ZeroDivisionError):
        dialect.reduce(x, b.constant(0, "f32"), lambda left, right: 1 / 0, dimensions=(0,))
    b.returns(dialect.negate(x))
    assert [each.name for each in b.module().walk()][-2:] == ["stablehlo.negate", "func.return"]


def test_an_operation_without_operands_takes_the_builder() -> None:
    b = Builder()
    b.returns(dialect.iota(iota_dimension=0, result="tensor<3xi32>", builder=b))
    assert run(b.module())[0].tolist() == [0, 1, 2]
