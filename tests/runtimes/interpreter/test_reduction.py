"""Reductions: the tree of halves, the initial value once, any body."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import NAMES, Run
from topos.runtimes.interpreter import run_text
from topos.runtimes.interpreter.run import compiled

HEAD = "%r = stablehlo.reduce(%a init: %b)"
F = "tensor<f32>"


def reduced(run: Run, name: str, array: Any, start: Any, axes: Any, shape: str) -> Any:
    element = NAMES[array.dtype.name]
    extents = "".join(f"{extent}x" for extent in array.shape)
    types = f"(tensor<{extents}{element}>, tensor<{element}>) -> tensor<{shape}{element}>"
    body = f"{HEAD} applies stablehlo.{name} across dimensions = {axes} : {types}"
    return run(body, f"tensor<{shape}{element}>", array, np.array(start, array.dtype))


CASES: tuple[Any, ...] = (
    ("add", np.int8, [[100, 100], [1, 2]], 1, [1], "2x", [-55, 4]),
    ("add", np.uint16, [[1, 2], [3, 4]], 0, [0, 1], "", 10),
    ("multiply", np.int32, [[2, 3], [4, 5]], 1, [0], "2x", [8, 15]),
    ("maximum", np.int16, [[-3, -2], [-9, -1]], -2, [1], "2x", [-2, -1]),
    ("minimum", np.float32, [[3.0, -0.0], [0.0, 5.0]], 9.0, [1], "2x", [-0.0, 0.0]),
    ("maximum", np.float16, [[3.0, np.nan], [0.0, 5.0]], 1.0, [1], "2x", [np.nan, 5.0]),
    ("add", np.float32, [[1.0, 2.0], [3.0, 4.0]], 0.0, [0], "2x", [4.0, 6.0]),
    ("add", np.float32, [[1.0, 2.0], [3.0, 4.0]], 10.0, [1, 0], "", 20.0),
    ("multiply", np.float64, [[1.5, 2.0]], 2.0, [1], "1x", [6.0]),
    ("and", np.bool_, [[True, False], [True, True]], True, [1], "2x", [False, True]),
    ("or", np.bool_, [[False, False], [True, False]], False, [1], "2x", [False, True]),
    ("xor", np.int8, [[1, 3], [7, 7]], 0, [1], "2x", [2, 0]),
    ("add", np.bool_, [[False, False], [True, False]], False, [1], "2x", [False, True]),
    ("maximum", np.int32, [[], []], 5, [1], "2x", [5, 5]),
    ("add", np.float32, [[], []], 5.0, [1], "2x", [5.0, 5.0]),
    ("add", np.float32, [[1.0, 2.0]], 5.0, [], "1x2x", [[6.0, 7.0]]),
)


@pytest.mark.parametrize(("name", "dtype", "array", "start", "axes", "shape", "wanted"), CASES)
def test_a_reduction_by_name(
    run: Run, name: str, dtype: Any, array: Any, start: Any, axes: Any, shape: str, wanted: Any
) -> None:
    result = reduced(run, name, np.array(array, dtype), start, axes, shape)
    assert result.tobytes() == np.array(wanted, dtype).tobytes()


def test_floats_add_by_halves_and_the_start_last(run: Run) -> None:
    tiny = 2.0**-24
    array = np.array([1.0, tiny, tiny, -1.0, tiny], np.float32)
    # ceil(5 / 2) = 3 terms lead: 1 + -1, tiny + tiny, and tiny, carried. Of these two lead:
    # 0 + tiny, and 2 tiny, carried. From left to right only the last tiny would be left.
    tree = np.float32(3 * tiny)
    assert reduced(run, "add", array, 0.0, [0], "").tobytes() == tree.tobytes()
    assert reduced(run, "add", array, tiny, [0], "") == np.float32(4 * tiny)


@pytest.mark.parametrize("start", ["0.0", "-0.0", "5.0"])
def test_a_start_that_is_a_constant_is_added_too(run: Run, start: str) -> None:
    types = f": (tensor<2xf32>, {F}) -> {F}"
    body = f"%b = stablehlo.constant dense<{start}> : {F}\n{HEAD} applies stablehlo.add"
    for array in (np.array([-0.0, -0.0], np.float32), np.array([1.0, 2.0], np.float32)):
        result = run(f"{body} across dimensions = [0] {types}", F, array)
        assert result.tobytes() == (np.float32(start) + (array[0] + array[1])).tobytes()


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_a_body_rounds_at_every_step(run: Run, element: str) -> None:
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}[element]
    array = np.array([256, 1, 1, 1], dtype)
    # In bf16 256 + 1 rounds to 256, and 1 + 1 reaches 258.
    wanted = {"f32": 259.0, "bf16": 258.0}[element]
    assert float(reduced(run, "add", array, 0, [0], "")) == wanted


REGION = (
    f"{HEAD} across dimensions = [0] : (tensor<3xf32>, {F}) -> {F}\nreducer(%l: {F}, %m: {F}) {{\n"
)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (f"%0 = stablehlo.subtract %l, %m : {F}", 10.0 - ((1.0 - 3.0) - 2.0)),
        (f"%0 = stablehlo.subtract %m, %l : {F}", (2.0 - (3.0 - 1.0)) - 10.0),
        (f"%1 = stablehlo.abs %m : {F}\n%0 = stablehlo.add %l, %1 : {F}", 16.0),
        (f"%1 = stablehlo.constant dense<2.0> : {F}\n%0 = stablehlo.minimum %1, %l : {F}", 2.0),
        (f"%0 = stablehlo.constant dense<7.0> : {F}", 7.0),
        (f"%1 = call @g(%l) : ({F}) -> {F}\n%0 = stablehlo.add %1, %m : {F}", 16.0),
        (f"%0 = stablehlo.multiply %l, %c : {F}", 20.0),
    ],
)
def test_a_reduction_by_any_body(lines: str, wanted: float) -> None:
    array, start = np.array([1.0, 2.0, 3.0], np.float32), np.float32(10.0)
    body = (
        f"%c = stablehlo.constant dense<2.0> : {F}\n{REGION}{lines}\nstablehlo.return %0 : {F} }}"
    )
    after = f"return %r : {F} }}\nfunc.func @g(%x: {F}) -> {F} {{ return %x : {F} }}\n"
    text = f"func.func @main(%a: tensor<3xf32>, %b: {F}) -> {F} {{\n{body}\n{after}"
    (result,) = run_text(text, [array, start])
    assert result == np.float32(wanted)


def test_a_body_with_a_branch_runs_element_by_element(run: Run) -> None:
    body = f"""
    {HEAD} across dimensions = [0] : (tensor<4xf32>, {F}) -> {F}
     reducer(%l: {F}, %m: {F}) {{
      %p = stablehlo.compare LT, %l, %m : ({F}, {F}) -> tensor<i1>
      %0 = "stablehlo.if"(%p) ({{
        stablehlo.return %m : {F}
      }}, {{
        stablehlo.return %l : {F}
      }}) : (tensor<i1>) -> {F}
      stablehlo.return %0 : {F}
    }}
    """
    array = np.array([1.0, 4.0, 3.0, 2.0], np.float32)
    assert run(body, F, array, np.float32(0)) == 4.0


def test_the_greatest_element_and_its_place(run: Run) -> None:
    types = "(tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>)"
    text = f"""
    %i = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0:2 = stablehlo.reduce(%a init: %n), (%i init: %z) across dimensions = [1]
      : {types} -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {{
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %x, %y : tensor<i1>, tensor<f32>
      %3 = stablehlo.select %1, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
    }}
    %r = stablehlo.convert %0#1 : (tensor<2xi32>) -> tensor<2xi64>
    """
    array = np.array([[1, 5, 2], [9, 3, 4]], np.float32)
    assert run(text, "tensor<2xi64>", array).tolist() == [1, 0]


def test_a_start_below_zero_keeps_the_sign_of_a_sum(run: Run) -> None:
    array = np.array([-0.0, -0.0], np.float64)
    assert reduced(run, "add", array, -0.0, [0], "").tobytes() == np.float64(-0.0).tobytes()
    assert reduced(run, "add", array, 0.0, [0], "").tobytes() == np.float64(0.0).tobytes()


ARGUMENTS = "reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>)"


def placed(order: str, tie: str, places: str = "stablehlo.iota dim = 1") -> str:
    """Returns the reduction of `%a` of 3 x 8 along its last axis to an extreme and its place."""
    f, i, t = "tensor<f32>", "tensor<i32>", "tensor<i1>"
    types = f"(tensor<3x8xf32>, tensor<3x8xi32>, {f}, {i}) -> (tensor<3xf32>, tensor<3xi32>)"
    start = {"GT": "0xFF800000", "LT": "0x7F800000"}[order]
    place = {"least": "%c5", "left": "%c0"}[tie]
    return f"""
    func.func @main(%a: tensor<3x8xf32>) -> (tensor<3xf32>, tensor<3xi32>) {{
    %i = {places} : tensor<3x8xi32>
    %z = stablehlo.constant dense<0> : {i}
    %n = stablehlo.constant dense<{start}> : {f}
    %0:2 = stablehlo.reduce(%a init: %n), (%i init: %z) across dimensions = [1] : {types}
     {ARGUMENTS} {{
      %1 = stablehlo.compare {order}, %x, %y, FLOAT : ({f}, {f}) -> {t}
      %2 = stablehlo.compare NE, %x, %x, FLOAT : ({f}, {f}) -> {t}
      %w = stablehlo.or %1, %2 : {t}
      %3 = stablehlo.compare EQ, %x, %y, FLOAT : ({f}, {f}) -> {t}
      %4 = stablehlo.compare LT, %p, %q, SIGNED : ({i}, {i}) -> {t}
      %c4 = stablehlo.and %3, %4 : {t}
      %c5 = stablehlo.or %w, %c4 : {t}
      %c0 = stablehlo.or %w, %3 : {t}
      %5 = stablehlo.select %w, %x, %y : {t}, {f}
      %6 = stablehlo.select {place}, %p, %q : {t}, {i}
      stablehlo.return %5, %6 : {f}, {i}
    }}
    return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
    }}
    """


def tree(array: Any, order: str, tie: str) -> list[Any]:
    """Returns what `placed` gives, worked out pair by pair along the tree of halves."""

    def better(left: Any, right: Any) -> Any:
        wins = left[0] > right[0] if order == "GT" else left[0] < right[0]
        wins = wins or left[0] != left[0]
        same = left[0] == right[0] and (tie == "left" or left[1] < right[1])
        return (left[0] if wins else right[0], left[1] if wins or same else right[1])

    start = (-np.inf if order == "GT" else np.inf, 0)
    found = []
    for row in array:
        terms = [(value, place) for place, value in enumerate(row)]
        while len(terms) > 1:
            half = len(terms) // 2
            terms = [better(*pair) for pair in zip(terms[:half], terms[half:], strict=True)]
        found.append(better(start, terms[0]))
    return found


@pytest.mark.parametrize("tie", ["least", "left"])
@pytest.mark.parametrize("order", ["GT", "LT"])
def test_an_extreme_and_its_place_are_those_of_the_tree(order: str, tie: str) -> None:
    random, reduce = np.random.default_rng(3), compiled(placed(order, tie))
    kinds = ([1.0, 2.0, 3.0], [0.0, -0.0, -1.0], [1.0, np.nan, -np.inf], [np.inf, 5.0])
    for values in kinds * 10:
        array = random.choice(np.array(values, np.float32), (3, 8))
        found, places = reduce(array)
        wanted = tree(array, order, tie)
        assert places.tolist() == [place for _, place in wanted]
        assert found.tobytes() == np.array([value for value, _ in wanted], np.float32).tobytes()


# Places that descend, and such as are known from the run alone.
PLACES = (
    "stablehlo.constant dense<[[7, 6, 5, 4, 3, 2, 1, 0], [7, 6, 5, 4, 3, 2, 1, 0],"
    " [7, 6, 5, 4, 3, 2, 1, 0]]>",
    "stablehlo.iota dim = 1 : tensor<3x8xi32>\n%i = stablehlo.subtract %j, %j",
)


@pytest.mark.parametrize("places", PLACES)
def test_places_that_do_not_ascend_are_those_of_the_body(places: str) -> None:
    text = placed("GT", "least", places)
    if "subtract" in places:
        text = text.replace("%i = stablehlo.iota", "%j = stablehlo.iota")
    array = np.tile(np.arange(4, dtype=np.float32), (3, 2))
    found, chosen = compiled(text)(array)
    assert found.tolist() == [3.0] * 3
    assert chosen.tolist() == [0] * 3


FAST: tuple[Any, ...] = (
    ("add", np.float32, np.add),
    ("add", np.float16, np.add),
    ("multiply", np.float64, np.multiply),
    ("maximum", np.float32, np.maximum),
    ("minimum", ml_dtypes.bfloat16, np.minimum),
    ("add", np.int16, np.add),
    ("xor", np.uint8, np.bitwise_xor),
)


@pytest.mark.parametrize(("name", "dtype", "ufunc"), FAST)
@pytest.mark.parametrize("axes", [[0], [1], [2, 0], [0, 1, 2]])
def test_a_fast_reduction_differs_in_rounding_alone(
    name: str, dtype: Any, ufunc: np.ufunc, axes: list[int]
) -> None:
    array = np.random.default_rng(2).integers(1, 4, (3, 4, 5)).astype(dtype)
    kept = "".join(f"{extent}x" for axis, extent in enumerate(array.shape) if axis not in axes)
    element = NAMES[array.dtype.name]
    whole, scalar, result = (f"tensor<{part}{element}>" for part in ("3x4x5x", "", kept))
    text = f"""
    func.func @main(%a: {whole}, %b: {scalar}) -> {result} {{
      {HEAD} applies stablehlo.{name} across dimensions = {axes} : ({whole}, {scalar}) -> {result}
      return %r : {result}
    }}
    """
    start = np.array(2, dtype)
    (reached,) = compiled(text, exact=False)(array, start)
    wide = array.astype(np.float64 if array.dtype.kind in "fV" else dtype)
    wanted = ufunc(ufunc.reduce(wide, axis=tuple(axes), dtype=wide.dtype), start.astype(wide.dtype))
    assert reached.dtype == dtype
    # The sums are small enough for every format to hold them exactly.
    assert np.asarray(reached, np.float64).tolist() == np.asarray(wanted, np.float64).tolist()
