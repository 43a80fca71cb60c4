"""Scatter, gather, reduction and sort in the interpreter beside numpy by hand, and a long loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from timing import interleaved, report

from topos.runtimes.interpreter.run import InterpreterExecutable, compiled

SIZE, ROWS, WIDTH, TAKEN, TURNS = 1_000_000, 20_000, 64, 15_625, 100_000
RANDOM = np.random.default_rng(1)
CELLS = RANDOM.standard_normal(SIZE).astype(np.float32)
PLACES = RANDOM.integers(0, SIZE, (SIZE, 1)).astype(np.int32)
TABLE = RANDOM.standard_normal((ROWS, WIDTH)).astype(np.float32)
NAMES = RANDOM.integers(0, ROWS, (TAKEN, 1)).astype(np.int32)
LINES = RANDOM.standard_normal((TAKEN, WIDTH)).astype(np.float32)
SQUARE = CELLS.reshape(1000, 1000)

ADD = "%s = stablehlo.add %x, %y : tensor<f32>"
KEEP = "%s = stablehlo.reshape %y : (tensor<f32>) -> tensor<f32>"
GREATER = "%s = stablehlo.maximum %x, %y : tensor<f32>"
# The body that argmax is lowered to.
FIRST = """
%1 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%2 = stablehlo.compare NE, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%3 = stablehlo.or %1, %2 : tensor<i1>
%4 = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%5 = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
%6 = stablehlo.and %4, %5 : tensor<i1>
%7 = stablehlo.or %3, %6 : tensor<i1>
%8 = stablehlo.select %3, %x, %y : tensor<i1>, tensor<f32>
%9 = stablehlo.select %7, %p, %q : tensor<i1>, tensor<i32>
"""


def typed(array: np.ndarray[Any, Any]) -> str:
    """Returns the type of an array of float32 or int32."""
    element = {"float32": "f32", "int32": "i32"}[array.dtype.name]
    return f"tensor<{'x'.join(map(str, (*array.shape, element)))}>"


def function(lines: str, result: str, *arrays: np.ndarray[Any, Any]) -> InterpreterExecutable:
    """Returns `lines`, which define `%r` from `%a`, `%b` and `%c`, in the fast posture."""
    pairs = zip("abc", arrays, strict=False)
    names = ", ".join(f"%{name}: {typed(array)}" for name, array in pairs)
    return compiled(
        f"func.func @main({names}) -> {result} {{\n{lines}\nreturn %r : {result} }}", False
    )


def scatter(body: str, *arrays: np.ndarray[Any, Any]) -> InterpreterExecutable:
    """Returns a scatter of rows, or of single elements, by `body`."""
    window = "update_window_dims = [1], " if arrays[0].ndim > 1 else ""
    types = ", ".join(map(typed, arrays))
    lines = f"""%r = "stablehlo.scatter"(%a, %b, %c) <{{scatter_dimension_numbers =
      #stablehlo.scatter<{window}inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
      index_vector_dim = 1>}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      {body}
      stablehlo.return %s : tensor<f32> }}) : ({types}) -> {typed(arrays[0])}"""
    return function(lines, typed(arrays[0]), *arrays)


def gather(array: np.ndarray[Any, Any], indices: np.ndarray[Any, Any]) -> InterpreterExecutable:
    """Returns a gather of rows, or of single elements."""
    rows = array.ndim > 1
    window, sizes = ("offset_dims = [1], ", f"1, {WIDTH}") if rows else ("", "1")
    result = typed(LINES if rows else CELLS)
    lines = f"""%r = "stablehlo.gather"(%a, %b) <{{dimension_numbers =
      #stablehlo.gather<{window}collapsed_slice_dims = [0], start_index_map = [0],
      index_vector_dim = 1>, slice_sizes = array<i64: {sizes}>}}>
      : ({typed(array)}, {typed(indices)}) -> {result}"""
    return function(lines, result, array, indices)


def total(axes: list[int], result: str) -> InterpreterExecutable:
    """Returns the sum of a square along `axes`."""
    lines = f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = {axes}
      : ({typed(SQUARE)}, tensor<f32>) -> {result}"""
    return function(lines, result, SQUARE)


def greatest() -> InterpreterExecutable:
    """Returns the place of the greatest element of each row of a square."""
    scalars, results = "tensor<f32>, tensor<i32>", "tensor<1000xf32>, tensor<1000xi32>"
    lines = f"""%i = stablehlo.iota dim = 1 : tensor<1000x1000xi32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0:2 = stablehlo.reduce(%a init: %n), (%i init: %z) across dimensions = [1]
      : ({typed(SQUARE)}, tensor<1000x1000xi32>, {scalars}) -> ({results})
      reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {{
      {FIRST}
      stablehlo.return %8, %9 : {scalars}
    }}
    %r = stablehlo.optimization_barrier %0#1 : tensor<1000xi32>"""
    return function(lines, "tensor<1000xi32>", SQUARE)


def order(body: str) -> InterpreterExecutable:
    """Returns a sort of single elements by `body`, which defines `%s`."""
    lines = f"""%r = "stablehlo.sort"(%a) <{{dimension = 0 : i64, is_stable = true}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      {body}
      stablehlo.return %s : tensor<i1> }}) : ({typed(CELLS)}) -> {typed(CELLS)}"""
    return function(lines, typed(CELLS), CELLS)


def by_hand(
    write: Callable[..., None], array: np.ndarray[Any, Any], *others: Any
) -> np.ndarray[Any, Any]:
    """Returns a copy of `array` that `write` has written to."""
    result = array.copy()
    write(result, *others)
    return result


def measured(
    title: str, evaluation: InterpreterExecutable, rival: Callable[[], Any], *arrays: Any
) -> None:
    """Prints the seconds of `evaluation` beside those of `rival`, which gives the same."""
    (result,) = evaluation(*arrays)
    assert np.allclose(result, rival(), rtol=1e-3, atol=1e-2), title
    best = interleaved({"ours": lambda: evaluation(*arrays), "numpy": rival}, rounds=9)
    figures = {name: f"{seconds * 1e3:.3f} ms" for name, seconds in best.items()}
    report(title, figures, best["ours"] / best["numpy"], "must be at most 2x")


def loop() -> None:
    """Prints the time of one operation in a loop over scalars."""
    lines = f"""%z = stablehlo.constant dense<0> : tensor<i32>
    %o = stablehlo.constant dense<1> : tensor<i32>
    %e = stablehlo.constant dense<{TURNS}> : tensor<i32>
    %0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<f32>
     cond {{
      %c = stablehlo.compare LT, %i, %e, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %n = stablehlo.add %i, %o : tensor<i32>
      %w = stablehlo.multiply %v, %a : tensor<f32>
      %u = stablehlo.add %w, %a : tensor<f32>
      stablehlo.return %n, %u : tensor<i32>, tensor<f32>
    }}
    %r = stablehlo.negate %0#1 : tensor<f32>"""
    array = np.array(0.5, np.float32)
    evaluation = function(lines, "tensor<f32>", array)
    best = interleaved({"loop": lambda: evaluation(array)}, rounds=5)
    each = best["loop"] / (4 * TURNS) * 1e6
    print(f"a loop of {TURNS} turns: {each:.2f} us an operation, must be under 10")


if __name__ == "__main__":
    places, names = PLACES[:, 0], NAMES[:, 0]
    for title, body, write in (
        ("add", ADD, np.add.at),
        ("replace", KEEP, np.ndarray.__setitem__),
        ("maximum", GREATER, np.maximum.at),
    ):
        measured(
            f"scatter {title}, 1e6 elements",
            scatter(body, CELLS, PLACES, CELLS),
            lambda write=write: by_hand(write, CELLS, places, CELLS),
            CELLS,
            PLACES,
            CELLS,
        )
        measured(
            f"scatter {title}, {TAKEN} rows of {WIDTH}",
            scatter(body, TABLE, NAMES, LINES),
            lambda write=write: by_hand(write, TABLE, names, LINES),
            TABLE,
            NAMES,
            LINES,
        )
    measured("gather, 1e6 elements", gather(CELLS, PLACES), lambda: CELLS[places], CELLS, PLACES)
    measured(f"gather, {TAKEN} rows", gather(TABLE, NAMES), lambda: TABLE[names], TABLE, NAMES)
    measured("sum of all", total([0, 1], "tensor<f32>"), SQUARE.sum, SQUARE)
    for axis in (0, 1):
        measured(
            f"sum along axis {axis}",
            total([axis], "tensor<1000xf32>"),
            lambda axis=axis: SQUARE.sum(axis),
            SQUARE,
        )
    measured("argmax of rows", greatest(), lambda: np.argmax(SQUARE, 1), SQUARE)
    compare = "stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    by_key = order(f"%s = {compare}")
    measured("sort 1e6", by_key, lambda: CELLS[np.argsort(CELLS, kind="stable")], CELLS)
    loop()
