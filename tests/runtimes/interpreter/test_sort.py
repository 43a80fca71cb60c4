"""Sort: orders by keys, by chains of keys, and by comparators that are neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.interpreter.conftest import NAMES, spelled
from topos.runtimes.interpreter import run_text
from topos.runtimes.interpreter.kernels import sorting

Array = npt.NDArray[Any]
T = "tensor<i1>"


def compared(result: str, direction: str, left: str, right: str, element: str, kind: str) -> str:
    type = f"tensor<{element}>"
    return (
        f"{result} = stablehlo.compare {direction}, {left}, {right}, {kind}"
        f" : ({type}, {type}) -> {T}\n"
    )


def ordered(lines: str, arrays: Sequence[Array], axis: int = 0) -> list[Array]:
    """Returns `arrays` sorted by a comparator of `%l0, %r0, %l1, ...` that defines `%c`."""
    return run_text(sort(lines, arrays, axis), arrays)


def sort(lines: str, arrays: Sequence[Array], axis: int = 0) -> str:
    types = [spelled(array) for array in arrays]
    names = [f"%a{place}" for place in range(len(arrays))]
    pairs = ", ".join(
        f"%{side}{place}: tensor<{NAMES[array.dtype.name]}>"
        for place, array in enumerate(arrays)
        for side in "lr"
    )
    given = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
    count = len(arrays)
    results = [f"%s#{place}" for place in range(count)] if count > 1 else ["%s"]
    signature = ", ".join(types)
    return f"""
    func.func @main({given}) -> ({signature}) {{
      %s{f":{count}" if count > 1 else ""} = "stablehlo.sort"({", ".join(names)})
        <{{dimension = {axis} : i64, is_stable = true}}> ({{
      ^bb0({pairs}):
        {lines}
        stablehlo.return %c : {T}
      }}) : ({signature}) -> ({signature})
      return {", ".join(results)} : {signature}
    }}
    """


def numbered(array: Array, axis: int = 0) -> Array:
    """Returns each element's place along `axis`, which tells how a sort has moved it."""
    places = np.arange(array.shape[axis], dtype=np.int32)
    return np.broadcast_to(
        places.reshape(-1, *(1,) * (array.ndim - axis % array.ndim - 1)), array.shape
    ).copy()


SPECIAL = [1.0, -0.0, np.inf, 0.0, -1.0, 0.0, -np.inf, -0.0, 1.0]
BY_KEY: tuple[Any, ...] = (
    (np.array([3, -1, 2, -1, 3], np.int32), "LT", "SIGNED", [1, 3, 2, 0, 4]),
    (np.array([3, -1, 2, -1, 3], np.int64), "GT", "SIGNED", [0, 4, 2, 1, 3]),
    (np.array([0, 255, 127, 128], np.uint8), "LT", "UNSIGNED", [0, 2, 3, 1]),
    (np.array([2**63, 0, 2**64 - 1, 1], np.uint64), "GT", "UNSIGNED", [2, 0, 3, 1]),
    (np.array([True, False, True, False]), "LT", "UNSIGNED", [1, 3, 0, 2]),
    (np.array(SPECIAL, np.float32), "LT", "FLOAT", [6, 4, 1, 3, 5, 7, 0, 8, 2]),
    (np.array(SPECIAL, np.float64), "GT", "FLOAT", [2, 0, 8, 1, 3, 5, 7, 4, 6]),
    (np.array(SPECIAL, ml_dtypes.bfloat16), "LT", "TOTALORDER", [6, 4, 1, 7, 3, 5, 0, 8, 2]),
    (np.array(SPECIAL, np.float16), "GT", "TOTALORDER", [2, 0, 8, 3, 5, 1, 7, 4, 6]),
)


@pytest.mark.parametrize(("array", "direction", "kind", "wanted"), BY_KEY)
def test_values_carry_others_in_a_stable_order(
    array: Array, direction: str, kind: str, wanted: list[int]
) -> None:
    element = NAMES[array.dtype.name]
    lines = compared("%c", direction, "%l0", "%r0", element, kind)
    values, places = ordered(lines, [array, numbered(array)])
    assert places.tolist() == wanted
    assert values.tobytes() == array[wanted].tobytes()
    # With its sides exchanged the comparator orders the other way round.
    other = {"LT": "GT", "GT": "LT"}[direction]
    lines = compared("%c", other, "%r0", "%l0", element, kind)
    assert ordered(lines, [array, numbered(array)])[1].tolist() == wanted


SMALL: tuple[Any, ...] = (
    ("complex<f32>", np.complex64, [2 + 1j, 1 + 5j, 2 - 1j, 1 + 5j], "FLOAT", [1, 3, 2, 0]),
    ("f8E4M3FN", ml_dtypes.float8_e4m3fn, [1.0, -0.0, 0.0, -2.0], "TOTALORDER", [3, 1, 2, 0]),
    ("f4E2M1FN", ml_dtypes.float4_e2m1fn, [1.0, -0.0, 0.0, -2.0], "TOTALORDER", [3, 1, 2, 0]),
    ("f4E2M1FN", ml_dtypes.float4_e2m1fn, [1.0, 0.0, -0.0, -2.0], "FLOAT", [3, 1, 2, 0]),
    ("i4", ml_dtypes.int4, [7, -8, 0, -8], "SIGNED", [1, 3, 2, 0]),
    ("ui2", ml_dtypes.uint2, [3, 2, 0, 2], "UNSIGNED", [2, 1, 3, 0]),
)


@pytest.mark.parametrize(("element", "dtype", "values", "kind", "wanted"), SMALL)
def test_complex_and_small_elements(
    element: str, dtype: Any, values: Any, kind: str, wanted: list[int]
) -> None:
    array = np.array(values, dtype)
    type, scalar = f"tensor<4x{element}>", f"tensor<{element}>"
    text = f"""
    func.func @main(%a: {type}, %b: tensor<4xi32>) -> ({type}, tensor<4xi32>) {{
      %s:2 = "stablehlo.sort"(%a, %b) <{{dimension = 0 : i64, is_stable = true}}> ({{
      ^bb0(%l: {scalar}, %r: {scalar}, %p: tensor<i32>, %q: tensor<i32>):
        {compared("%c", "LT", "%l", "%r", element, kind)}
        stablehlo.return %c : {T}
      }}) : ({type}, tensor<4xi32>) -> ({type}, tensor<4xi32>)
      return %s#0, %s#1 : {type}, tensor<4xi32>
    }}
    """
    moved, places = run_text(text, [array, np.arange(4, dtype=np.int32)])
    assert places.tolist() == wanted
    assert moved.tobytes() == array[wanted].tobytes()


@pytest.mark.parametrize(("direction", "sign"), [("LT", 1), ("GT", -1)])
def test_integers_alone(direction: str, sign: int) -> None:
    array = np.random.default_rng(1).integers(-9, 9, (4, 7, 3)).astype(np.int8)
    for axis in (0, 1, 2, -1, -2):
        (result,) = ordered(compared("%c", direction, "%l0", "%r0", "i8", "SIGNED"), [array], axis)
        assert result.tolist() == (sign * np.sort(sign * array, axis=axis)).tolist()


def canonical(name: str, source: str) -> str:
    """Returns lines that define `name` as `source` with one zero and one NaN."""
    f = "tensor<f32>"
    return f"""
    %zero{name} = stablehlo.constant dense<0.0> : {f}
    {compared(f"%e{name}", "EQ", source, f"%zero{name}", "f32", "FLOAT")}
    %s{name} = stablehlo.select %e{name}, %zero{name}, {source} : {T}, {f}
    {compared(f"%u{name}", "NE", source, source, "f32", "FLOAT")}
    %nan{name} = stablehlo.constant dense<0x7FC00000> : {f}
    %{name} = stablehlo.select %u{name}, %nan{name}, %s{name} : {T}, {f}
    """


def test_floats_by_their_canonical_values() -> None:
    array = np.array([np.nan, 1, -0.0, -np.nan, 0.0, -np.inf, -0.0], np.float32)
    lines = canonical("k", "%l0") + canonical("m", "%r0")
    lines += compared("%c", "LT", "%k", "%m", "f32", "TOTALORDER")
    values, places = ordered(lines, [array, numbered(array)])
    assert places.tolist() == [5, 2, 4, 6, 1, 0, 3]
    assert values.tobytes() == array[places].tobytes()


def chain(shape: str) -> str:
    """Returns a comparator of ascending firsts, then of descending seconds."""
    first = compared("%lt", "LT", "%l0", "%r0", "i32", "SIGNED")
    second = compared("%gt", "GT", "%l1", "%r1", "ui8", "UNSIGNED")
    equal = compared("%eq", "EQ", "%r0", "%l0", "i32", "SIGNED")
    unequal = compared("%ne", "NE", "%l0", "%r0", "i32", "SIGNED")
    last = {
        "or": f"%b = stablehlo.and %gt, %eq : {T}\n%c = stablehlo.or %b, %lt : {T}",
        "equal": f"%c = stablehlo.select %eq, %gt, %lt : {T}, {T}",
        "unequal": f"%c = stablehlo.select %ne, %lt, %gt : {T}, {T}",
        # No chain of keys, but the same order all the same.
        "if": f"""%c = "stablehlo.if"(%eq) ({{
          stablehlo.return %gt : {T}
        }}, {{
          stablehlo.return %lt : {T}
        }}) : ({T}) -> {T}""",
    }[shape]
    return first + second + equal + unequal + last


@pytest.mark.parametrize("shape", ["or", "equal", "unequal", "if"])
def test_a_second_key_decides_between_equals(shape: str) -> None:
    random = np.random.default_rng(2)
    first = random.integers(-2, 2, (3, 40)).astype(np.int32)
    second = random.integers(0, 3, (3, 40)).astype(np.uint8)
    places = numbered(first, 1)
    results = ordered(chain(shape), [first, second, places], axis=1)
    wanted = np.lexsort((places, -second.astype(np.int32), first), axis=1)
    assert results[2].tolist() == wanted.tolist()
    assert results[0].tolist() == np.take_along_axis(first, wanted, 1).tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 17, 100])
def test_any_comparator_merges_stably(count: int) -> None:
    """A difference below zero is no comparison of keys."""
    lines = "%d = stablehlo.subtract %l0, %r0 : tensor<i32>\n"
    lines += "%z = stablehlo.constant dense<0> : tensor<i32>\n"
    lines += compared("%c", "LT", "%d", "%z", "i32", "SIGNED")
    array = np.random.default_rng(count).integers(0, 9, (2, count, 3)).astype(np.int32)
    values, places = ordered(lines, [array, numbered(array, 1)], axis=1)
    wanted = np.argsort(array, axis=1, kind="stable")
    assert places.tolist() == wanted.tolist()
    assert values.tolist() == np.sort(array, axis=1).tolist()


def shifted(left: float, right: float) -> str:
    """Returns a comparator of the numbers, each less a constant of its own."""
    f = "tensor<f32>"
    lines = "".join(
        f"%k{side} = stablehlo.constant dense<{number}> : {f}\n"
        f"%d{side} = stablehlo.subtract %{side}0, %k{side} : {f}\n"
        for side, number in (("l", left), ("r", right))
    )
    return lines + compared("%c", "LT", "%dl", "%dr", "f32", "FLOAT")


ONE = [np.zeros(3, np.float32)]
TWO = [np.zeros(3, np.int32), np.zeros(3, np.uint8)]
RECOGNIZED = (
    (shifted(0.5, 0.5), ONE, True),
    (shifted(0.5, 0.25), ONE, False),
    (compared("%c", "LT", "%r0", "%l0", "f32", "TOTALORDER"), ONE, True),
    (compared("%c", "LE", "%l0", "%r0", "f32", "FLOAT"), ONE, False),
    (compared("%c", "LT", "%l0", "%l0", "f32", "FLOAT"), ONE, False),
    *((chain(shape), TWO, shape != "if") for shape in ("or", "equal", "unequal", "if")),
)


@pytest.mark.parametrize(("lines", "arrays", "known"), RECOGNIZED)
def test_an_order_of_keys_is_sorted_by_the_library(
    monkeypatch: pytest.MonkeyPatch, lines: str, arrays: list[Array], known: bool
) -> None:
    merged: list[int] = []
    merge = sorting.merged_order

    def seen(before: sorting.Before, lanes: int, count: int) -> Array:
        merged.append(count)
        return merge(before, lanes, count)

    monkeypatch.setattr(sorting, "merged_order", seen)
    ordered(lines, arrays)
    assert bool(merged) is not known


TABLE = """
%t = stablehlo.constant dense<[2, 0, 3, 1]> : tensor<4xi32>
%1 = stablehlo.dynamic_slice %t, %l0, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
%2 = stablehlo.dynamic_slice %t, %r0, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
%3 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
%4 = stablehlo.reshape %2 : (tensor<1xi32>) -> tensor<i32>
"""


def test_a_comparator_may_look_into_a_table() -> None:
    lines = TABLE + compared("%c", "LT", "%3", "%4", "i32", "SIGNED")
    (result,) = ordered(lines, [np.array([0, 1, 2, 3, 0], np.int32)])
    assert result.tolist() == [1, 3, 0, 0, 2]


@pytest.mark.parametrize(
    "lines",
    [
        f"%c = stablehlo.constant dense<true> : {T}",
        compared("%c", "LE", "%l0", "%r0", "i32", "SIGNED"),
        compared("%c", "NE", "%l0", "%r0", "i32", "SIGNED"),
    ],
)
def test_a_comparator_that_contradicts_itself_loses_nothing(lines: str) -> None:
    array = np.random.default_rng(5).integers(0, 5, 33).astype(np.int32)
    values, places = ordered(lines, [array, numbered(array)])
    assert sorted(places.tolist()) == list(range(33))
    assert values.tolist() == array[places].tolist()


def test_no_elements_need_no_order() -> None:
    lines = compared("%c", "LT", "%l0", "%r0", "f32", "FLOAT")
    for shape in ((0,), (2, 0), (0, 2)):
        (result,) = ordered(lines, [np.zeros(shape, np.float32)])
        assert result.shape == shape
