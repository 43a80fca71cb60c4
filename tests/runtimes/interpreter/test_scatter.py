"""Scatter: updates combined in their order, those outside dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run, spelled
from tests.runtimes.interpreter.window_samples import samples
from topos.payload.kernels import arithmetic
from topos.runtimes import interpreter
from topos.runtimes.interpreter import run_text
from topos.runtimes.interpreter.run import compiled

F = "tensor<f32>"


M = np.arange(12, dtype=np.float32).reshape(4, 3)
ROWS = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],"
ROWS += " index_vector_dim = 1"
CELLS = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
ADD = f"%s = stablehlo.add %x, %y : {F}"


def body_of(numbers: str, line: str, array: Any, indices: Any, updates: Any, element: str) -> str:
    type, scalar = spelled(array), f"tensor<{element}>"
    return (
        '%r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers ='
        f" #stablehlo.scatter<{numbers}>, indices_are_sorted = false, unique_indices = false}}>"
        f" ({{\n^bb0(%x: {scalar}, %y: {scalar}):\n{line.replace('f32', element)}\n"
        f"stablehlo.return %s : {scalar} }})"
        f" : ({type}, {spelled(indices)}, {spelled(updates)}) -> {type}"
    )


def scattered(
    run: Run, numbers: str, line: str, array: Any, indices: Any, updates: Any, element: str = "f32"
) -> Any:
    body = body_of(numbers, line, array, indices, updates, element)
    return run(body, spelled(array), array, indices, updates)


def module(numbers: str, line: str, array: Any, indices: Any, updates: Any) -> str:
    body = body_of(numbers, line, array, indices, updates, "i32")
    types = [spelled(part) for part in (array, indices, updates)]
    names = ", ".join(f"%{name}: {type}" for name, type in zip("abc", types, strict=True))
    return f"func.func @main({names}) -> {types[0]} {{\n{body}\nreturn %r : {types[0]}\n}}"


BODIES: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    (ADD, lambda old, new: old + new),
    (f"%s = stablehlo.reshape %y : ({F}) -> {F}", lambda old, new: new),
    (f"%s = stablehlo.subtract %y, %x : {F}", lambda old, new: new - old),
    (f"%s = stablehlo.minimum %y, %x : {F}", min),
)


def test_updates_add_up_and_those_outside_are_dropped(run: Run) -> None:
    updates = np.ones((4, 3), np.float32)
    indices = np.array([1, 1, -1, 4], np.int32)
    array = M.copy()
    result = scattered(run, ROWS, ADD, array, indices, updates)
    wanted = M.copy()
    wanted[1] += 2
    assert result.tolist() == wanted.tolist()
    assert array.tolist() == M.tolist()


def test_a_window_that_reaches_out_is_dropped_where_it_does(run: Run) -> None:
    numbers = "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    array, updates = np.zeros(4, np.float32), np.array([[1, 2], [3, 4]], np.float32)
    result = scattered(run, numbers, ADD, array, np.array([3, -1], np.int64), updates)
    assert result.tolist() == [4.0, 0.0, 0.0, 1.0]


def test_updates_add_in_their_order(run: Run) -> None:
    tiny = np.float32(2**-24)
    updates = np.array([-1, tiny, tiny], np.float32)
    array, indices = np.array([1.0], np.float32), np.zeros(3, np.int32)
    assert scattered(run, CELLS, ADD, array, indices, updates)[0] == 2 * tiny
    # Each of the two is lost beside the one before that is taken away.
    assert scattered(run, CELLS, ADD, array, indices, updates[::-1])[0] == 0.0


def test_many_updates_of_a_few_places_keep_their_order(run: Run) -> None:
    random = np.random.default_rng(3)
    places = random.integers(0, 5, 500).astype(np.int32)
    updates = random.standard_normal(500).astype(np.float32)
    wanted = np.zeros(5, np.float32)
    for place, update in zip(places, updates, strict=True):
        wanted[place] += update
    result = scattered(run, CELLS, ADD, np.zeros(5, np.float32), places, updates)
    assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("%s = stablehlo.subtract %x, %y : tensor<f32>", [10.0 - 1 - 2, 20.0, 30.0 - 3]),
        ("%s = stablehlo.subtract %y, %x : tensor<f32>", [2 - (1 - 10.0), 20.0, 3 - 30.0]),
        ("%s = stablehlo.maximum %x, %y : tensor<f32>", [10.0, 20.0, 30.0]),
        ("%s = stablehlo.negate %y : tensor<f32>", [-2.0, 20.0, -3.0]),
        ("%s = stablehlo.constant dense<7.0> : tensor<f32>", [7.0, 20.0, 7.0]),
    ],
)
def test_a_scatter_by_any_body(run: Run, line: str, wanted: list[float]) -> None:
    array, updates = np.array([10, 20, 30], np.float32), np.array([1, 2, 3], np.float32)
    result = scattered(run, CELLS, line, array, np.array([0, 0, 2], np.int32), updates)
    assert result.tolist() == wanted


def test_integers_scatter_and_wrap(run: Run) -> None:
    array, updates = np.array([100, 0], np.int8), np.array([100, 1], np.int8)
    result = scattered(run, CELLS, ADD, array, np.array([0, 1], np.int64), updates, "i8")
    assert result.tolist() == [-56, 1]


OVERWRITE = f"%s = stablehlo.reshape %y : ({F}) -> {F}"


def test_of_updates_that_replace_the_last_one_stays(run: Run) -> None:
    random = np.random.default_rng(4)
    places = random.integers(-2, 12, 400).astype(np.int32)
    updates = random.standard_normal(400).astype(np.float32)
    wanted = np.zeros(9, np.float32)
    for place, update in zip(places, updates, strict=True):
        if 0 <= place < 9:
            wanted[place] = update
    result = scattered(run, CELLS, OVERWRITE, np.zeros(9, np.float32), places, updates)
    assert result.tobytes() == wanted.tobytes()


def test_rows_are_replaced_and_added_to_in_order(run: Run) -> None:
    random = np.random.default_rng(6)
    places = random.integers(0, 4, 60).astype(np.int64)
    updates = random.standard_normal((60, 3)).astype(np.float32)
    for line in (OVERWRITE, ADD):
        wanted = M.copy()
        for place, update in zip(places, updates, strict=True):
            wanted[place] = update if line == OVERWRITE else wanted[place] + update
        assert scattered(run, ROWS, line, M, places, updates).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("spread", [2, 400])
def test_rows_that_repeat_much_have_the_same_bits_as_those_that_do_not(
    run: Run, name: str, spread: int
) -> None:
    """By numpy where many updates fall on one row, in turns where few do."""
    random = np.random.default_rng(spread)
    values = np.array([0.0, -0.0, 1.5, -2.5, np.nan, 0.1], np.float32)
    array = random.choice(values, (400, 2))
    places = random.integers(0, spread, 320).astype(np.int32)
    updates = random.choice(values, (320, 2))
    line = f"%s = stablehlo.{name} %x, %y : {F}"
    result = scattered(run, ROWS, line, array, places, updates)
    wanted = array.copy()
    for place, update in zip(places, updates, strict=True):
        pair = (wanted[place], update)
        wanted[place] = getattr(arithmetic, name)(*pair)
    assert result.tobytes() == wanted.tobytes()


def test_the_greater_has_the_bits_of_the_oracle(run: Run) -> None:
    """A zero is above one that is negative, NaN above all; what no update reaches stays."""
    odd = np.array([0xFFC00001], np.uint32).view(np.float32)[0]
    array = np.array([-0.0, 0.0, 1.0, odd, odd, -5.0], np.float32)
    updates = np.array([0.0, -0.0, odd, 3.0, -7.0, -2.0], np.float32)
    places = np.array([0, 1, 2, 3, 5, 5], np.int32)
    for name, wanted in (
        ("maximum", [0.0, 0.0, np.nan, np.nan, odd, -2.0]),
        ("minimum", [-0.0, -0.0, np.nan, np.nan, odd, -7.0]),
    ):
        line = f"%s = stablehlo.{name} %x, %y : {F}"
        result = scattered(run, CELLS, line, array, places, updates)
        assert result.tobytes() == np.array(wanted, np.float32).tobytes()


def test_a_sum_that_is_no_number_is_the_canonical_one(run: Run) -> None:
    odd = np.array([0xFFC00001], np.uint32).view(np.float32)[0]
    array, updates = np.array([np.inf, odd, odd], np.float32), np.array([-np.inf, 1], np.float32)
    result = scattered(run, CELLS, ADD, array, np.array([0, 1], np.int32), updates)
    assert result.tobytes() == np.array([np.nan, np.nan, odd], np.float32).tobytes()


def test_large_windows_overlap_and_reach_out(run: Run) -> None:
    numbers = "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1],"
    numbers += " index_vector_dim = 1"
    array = np.zeros((90, 80), np.float32)
    updates = np.random.default_rng(8).standard_normal((4, 70, 64)).astype(np.float32)
    starts = np.array([[3, 5], [-4, 0], [60, 40], [200, 0]], np.int32)
    for line in (OVERWRITE, ADD):
        wanted = np.zeros((400, 400), np.float32)
        for (row, column), update in zip(starts + 100, updates, strict=True):
            part = wanted[row : row + 70, column : column + 64]
            part[...] = update if line == OVERWRITE else part + update
        result = scattered(run, numbers, line, array, starts, updates)
        assert result.tobytes() == wanted[100:190, 100:180].tobytes()


def test_several_operands_are_written_together() -> None:
    i = "tensor<i32>"
    text = f"""
    func.func @main(%a: tensor<3xf32>, %b: tensor<3xi32>, %p: tensor<4xi32>,
        %c: tensor<4xf32>, %d: tensor<4xi32>) -> (tensor<3xf32>, tensor<3xi32>) {{
      %r:2 = "stablehlo.scatter"(%a, %b, %p, %c, %d) <{{scatter_dimension_numbers =
        #stablehlo.scatter<{CELLS}>}}> ({{
      ^bb0(%x: {F}, %y: {i}, %u: {F}, %v: {i}):
        %0 = stablehlo.compare LT, %x, %u : ({F}, {F}) -> tensor<i1>
        %1 = stablehlo.select %0, %u, %x : tensor<i1>, {F}
        %2 = stablehlo.select %0, %v, %y : tensor<i1>, {i}
        stablehlo.return %1, %2 : {F}, {i}
      }}) : (tensor<3xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xf32>, tensor<4xi32>)
        -> (tensor<3xf32>, tensor<3xi32>)
      return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
    }}
    """
    values, names = run_text(
        text,
        [
            np.zeros(3, np.float32),
            np.full(3, -1, np.int32),
            np.array([2, 0, 2, 2], np.int32),
            np.array([1, -1, 5, 3], np.float32),
            np.array([10, 11, 12, 13], np.int32),
        ],
    )
    assert (values.tolist(), names.tolist()) == ([0.0, 0.0, 5.0], [-1, -1, 12])


@pytest.mark.parametrize("exact", [True, False])
def test_every_update_falls_where_it_is_specified(exact: bool) -> None:
    for sample, random in samples(seed=9, count=40):
        array = random.integers(-9, 9, sample.shape).astype(np.int32)
        indices = random.integers(-1, 6, sample.indices).astype(np.int64)
        updates = random.integers(-9, 9, sample.outer).astype(np.int32)
        numbers = (
            f"update_window_dims = {sample.offsets}, inserted_window_dims = {sample.collapsed},"
            f" input_batching_dims = {sample.batching},"
            f" scatter_indices_batching_dims = {sample.along},"
            f" scatter_dims_to_operand_dims = {sample.components},"
            f" index_vector_dim = {sample.vector}"
        )
        for line, combine in BODIES:
            wanted = array.copy()
            for place in np.ndindex(*sample.outer):
                element = sample.element(indices, place, clamped=False)
                if sample.inside(element):
                    wanted[element] = combine(wanted[element], updates[place])
            text = module(numbers, line, array, indices, updates)
            (result,) = compiled(text, exact)(array, indices, updates)
            assert result.tobytes() == wanted.tobytes(), sample


@pytest.mark.parametrize("element", ["f32", "bf16", "i32", "complex<f32>"])
@pytest.mark.parametrize("line", ["stablehlo.add %a, %b", "stablehlo.subtract %b, %a"])
def test_a_scalar_is_written_to(element: str, line: str) -> None:
    # What is cut out of a scalar must be an array, not a number that nothing can be written to.
    one = f"tensor<{element}>"
    text = (
        f"func.func @main(%x: {one}, %i: tensor<2x0xi32>, %u: tensor<2x{element}>) -> {one} {{\n"
        '%r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers ='
        f" #stablehlo.scatter<index_vector_dim = 1>}}> ({{\n^bb0(%a: {one}, %b: {one}):\n"
        f"%s = {line} : {one}\nstablehlo.return %s : {one}\n}})"
        f" : ({one}, tensor<2x0xi32>, tensor<2x{element}>) -> {one}\nreturn %r : {one}\n}}"
    )
    executable = interpreter.RUNTIME.compile(text)
    start, _, updates = executable.signature.arguments
    got = executable(
        np.ones((), start.dtype), np.zeros((2, 0), np.int32), np.array([2, 4], updates.dtype)
    )
    assert got[0].shape == ()
    assert complex(got[0]) == (7 if "add" in line else 3)
