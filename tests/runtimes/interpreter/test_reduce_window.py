"""Windows: where they stand, the order within one, any body, and windows that are long."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.interpreter.sliding import Pairs, named, windows
from topos.runtimes import Executable
from topos.runtimes.interpreter.run import compiled

Array = npt.NDArray[Any]

# A body of two operations has no shorter way: 2 * x + y keeps the order visible.
DOUBLING = "%w = stablehlo.add %x, %x : T\n%z = stablehlo.add %w, %y : T"


def doubling(left: Any, right: Any) -> Any:
    return left + left + right


COMBINE: dict[str, Any] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@np.errstate(all="ignore")
def slid(
    combine: Any,
    array: Array,
    start: Any,
    size: list[int],
    stride: list[int],
    padding: Pairs,
    base: list[int],
    dilation: list[int],
) -> Array:
    """Returns the windows of `array` reduced one element after another."""
    first = np.array(start, array.dtype)
    spread = np.full(
        [(extent - 1) * step + 1 for extent, step in zip(array.shape, base, strict=True)], first
    )
    spread[tuple(slice(None, None, step) for step in base)] = array
    ends = [(max(low, 0), max(high, 0)) for low, high in padding]
    padded = np.pad(spread, ends, constant_values=first)
    crops = [
        slice(max(-low, 0), max(extent - max(-high, 0), 0))
        for (low, high), extent in zip(padding, padded.shape, strict=True)
    ]
    padded = padded[tuple(crops)]
    spans = [(each - 1) * step + 1 for each, step in zip(size, dilation, strict=True)]
    counts = [
        max((extent - span) // step + 1, 0)
        for extent, span, step in zip(padded.shape, spans, stride, strict=True)
    ]
    result = np.empty(counts, array.dtype)
    for window in np.ndindex(*counts):
        total = first
        for place in np.ndindex(*size):
            at = (w * s + p * d for w, s, p, d in zip(window, stride, place, dilation, strict=True))
            total = np.asarray(combine(total, padded[tuple(at)])).astype(array.dtype)
        result[window] = total
    return result


@pytest.mark.parametrize("seed", range(40))
def test_any_window(seed: int) -> None:
    choice = random.Random(seed)
    rank = choice.choice([1, 1, 2, 2, 3])
    shape = [choice.randint(1, 6) for _ in range(rank)]
    size = [choice.randint(1, 4) for _ in range(rank)]
    padding = [[choice.randint(-1, 3), choice.randint(-1, 3)] for _ in range(rank)]
    stride, base, dilation = ([choice.randint(1, 2) for _ in range(rank)] for _ in range(3))
    dtype = choice.choice([np.float32, np.float64, np.int32, np.uint8])
    names = ["add", "maximum", "multiply", "doubling"]
    name = choice.choice([*names, "and", "or", "xor"] if np.dtype(dtype).kind in "iu" else names)
    array = np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)
    body, combine = (DOUBLING, doubling) if name == "doubling" else (named(name), COMBINE[name])
    start = choice.choice([0, 1, 3])
    wanted = slid(combine, array, start, size, stride, padding, base, dilation)
    for exact in (True, False):
        got = windows(
            body,
            array,
            start,
            size,
            stride=stride,
            padding=padding,
            base=base,
            dilation=dilation,
            exact=exact or name == "doubling",
        )
        # Small whole numbers: no order rounds.
        assert got.tobytes() == wanted.tobytes()


def test_exact_sums_go_from_left_to_right_after_the_start() -> None:
    tiny = 2.0**-24
    array = np.array([[tiny, tiny], [tiny, 1.0]], np.float32)
    assert windows(named("add"), array, 0.0, [2, 2]) == np.float32(1 + 2**-22)
    assert windows(named("add"), array, 1.0, [2, 2]) == 2.0


@pytest.mark.parametrize("count", [3, 100])
def test_running_sums_are_those_of_the_windows(count: int) -> None:
    terms = np.random.default_rng(count).standard_normal((count, 2)).astype(np.float32)
    total, wanted = np.zeros(2, np.float32), []
    for term in terms:
        total = total + term
        wanted.append(total)
    running = {"size": [count, 1], "padding": [[count - 1, 0], [0, 0]]}
    got = windows(named("add"), terms, 0.0, **running)  # type: ignore[arg-type]
    assert got.tobytes() == np.stack(wanted).tobytes()
    fast = windows(named("add"), terms, 0.0, **running, exact=False)  # type: ignore[arg-type]
    np.testing.assert_allclose(fast, got, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, ml_dtypes.bfloat16])
def test_a_start_that_the_padding_changes_is_no_running_sum(dtype: Any) -> None:
    array = np.array([1, 2, 3], dtype)
    for exact in (True, False):
        # Two, one and no elements of the padding count as much as the start does.
        got = windows(named("add"), array, 10, [3], padding=[[2, 0]], exact=exact)
        assert got.astype(np.int32).tolist() == [31, 23, 16]
    general = windows(DOUBLING, array, 10, [3], padding=[[2, 0]])
    assert general.astype(np.int32).tolist() == [141, 124, 91]


def test_a_running_sum_begins_with_its_start() -> None:
    zeros = np.array([-0.0, -0.0, -0.0], np.float32)
    for start in (0.0, -0.0):
        got = windows(named("add"), zeros, start, [3], padding=[[2, 0]])
        assert got.tobytes() == np.array([start] * 3, np.float32).tobytes()


def test_exact_sums_of_many_windows_go_from_left_to_right() -> None:
    array = np.random.default_rng(9).standard_normal((40, 30)).astype(np.float32)
    got = windows(named("add"), array, 0.5, [3, 2], stride=[1, 2])
    total = np.full((38, 15), 0.5, np.float32)
    for row, column in np.ndindex(3, 2):
        total = total + array[row : row + 38, column:30:2]
    assert got.tobytes() == total.tobytes()


def test_running_totals_of_any_body() -> None:
    body = "%w = stablehlo.abs %y : T\n%z = stablehlo.add %x, %w : T"
    array = np.array([[-1.0, 2.0], [3.0, -4.0], [-5.0, 0.5]], np.float32)
    wanted = np.cumsum(np.abs(array), axis=0)
    for exact in (True, False):
        got = windows(body, array, 0.0, [3, 1], padding=[[2, 0], [0, 0]], exact=exact)
        assert got.tobytes() == wanted.tobytes()


def test_a_body_rounds_bfloat16_at_every_step() -> None:
    array = np.array([256, 1, 1, 1], ml_dtypes.bfloat16)
    assert float(windows(named("add"), array, 0, [4])[0]) == 256.0
    # Fast rounds once.
    assert float(windows(named("add"), array, 0, [4], exact=False)[0]) == 260.0


def argument(shape: str, size: list[int], padding: Pairs, exact: bool) -> Executable:
    """Returns the greatest element of each window and its place, the first of equal ones."""
    values, places = f"tensor<{shape}xf32>", f"tensor<{shape}xi32>"
    f, i = "tensor<f32>", "tensor<i32>"
    results = f"({values}, {places})"
    text = (
        f"func.func @main(%a: {values}, %b: {places}, %c: {f}, %d: {i}) -> {results} {{\n"
        '%r:2 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{window_dimensions ='
        f" array<i64: {', '.join(map(str, size))}>,"
        f" padding = dense<{padding}> : tensor<{len(size)}x2xi64>}}> ({{\n"
        f"^bb0(%v: {f}, %p: {i}, %w: {f}, %q: {i}):\n"
        f"%k = stablehlo.compare GE, %v, %w : ({f}, {f}) -> tensor<i1>\n"
        f"%x = stablehlo.select %k, %v, %w : tensor<i1>, {f}\n"
        f"%y = stablehlo.select %k, %p, %q : tensor<i1>, {i}\n"
        f"stablehlo.return %x, %y : {f}, {i}\n}})"
        f" : ({values}, {places}, {f}, {i}) -> {results}\n"
        f"return %r#0, %r#1 : {values}, {places}\n}}"
    )
    return compiled(text, exact)


@pytest.mark.parametrize("exact", [True, False])
def test_several_operands_are_reduced_together(exact: bool) -> None:
    random_ = np.random.default_rng(3)
    array = random_.integers(0, 5, (6, 7)).astype(np.float32)
    places = np.arange(42, dtype=np.int32).reshape(6, 7)
    size, padding = [5, 5], [[2, 2], [2, 2]]
    run = argument("6x7", size, padding, exact)
    best, where = run(array, places, np.float32(-1), np.int32(-1))
    padded = np.pad(array, 2, constant_values=-1)
    spots = np.pad(places, 2, constant_values=-1)
    for row, column in np.ndindex(6, 7):
        window = (slice(row, row + 5), slice(column, column + 5))
        first = np.argmax(padded[window])
        assert best[row, column] == padded[window].ravel()[first]
        assert where[row, column] == spots[window].ravel()[first]


def test_an_operand_widens_to_its_result() -> None:
    text = (
        "func.func @main(%a: tensor<3xbf16>, %i: tensor<bf16>) -> tensor<1xf32> {\n"
        '%r = "stablehlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 3>}> ({\n'
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%z = stablehlo.add %x, %y : tensor<f32>\n"
        "stablehlo.return %z : tensor<f32>\n}) : (tensor<3xbf16>, tensor<bf16>)"
        " -> tensor<1xf32>\nreturn %r : tensor<1xf32>\n}"
    )
    array = np.array([256, 1, 1], ml_dtypes.bfloat16)
    (got,) = compiled(text)(array, np.zeros((), ml_dtypes.bfloat16))
    assert got.tolist() == [258.0]


def test_a_body_may_use_values_from_outside() -> None:
    text = (
        "func.func @main(%a: tensor<3xf32>, %i: tensor<f32>, %c: tensor<f32>) -> tensor<2xf32> {\n"
        '%r = "stablehlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 2>}> ({\n'
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%w = stablehlo.multiply %y, %c : tensor<f32>\n"
        "%z = stablehlo.add %x, %w : tensor<f32>\nstablehlo.return %z : tensor<f32>\n"
        "}) : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>\nreturn %r : tensor<2xf32>\n}"
    )
    array = np.array([1, 2, 3], np.float32)
    (got,) = compiled(text)(array, np.float32(100), np.float32(10))
    assert got.tolist() == [130.0, 150.0]
