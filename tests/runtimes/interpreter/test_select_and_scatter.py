"""Selection and scattering: which element of a window is kept, and what comes of its values."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.interpreter.conftest import NAMES, spelled
from topos.runtimes.interpreter.run import compiled

Array = npt.NDArray[Any]
COMPARE = {"GE": operator.ge, "GT": operator.gt, "LE": operator.le, "LT": operator.lt}
SCATTER: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "maximum": max,
}
Pairs = list[list[int]]


def scattered(
    direction: str,
    name: str,
    operand: Array,
    source: Array,
    start: Any,
    size: list[int],
    stride: list[int],
    padding: Pairs,
) -> Array:
    """Returns the result of a selection by comparison and a scattering by name."""
    element = NAMES[operand.dtype.name]
    scalar = f"tensor<{element}>"
    types = f"({spelled(operand)}, {spelled(source)}, {scalar}) -> {spelled(operand)}"
    text = (
        f"func.func @main(%a: {spelled(operand)}, %s: {spelled(source)}, %i: {scalar})"
        f" -> {spelled(operand)} {{\n"
        '%r = "stablehlo.select_and_scatter"(%a, %s, %i) <{'
        f"window_dimensions = array<i64: {', '.join(map(str, size))}>,"
        f" window_strides = array<i64: {', '.join(map(str, stride))}>,"
        f" padding = dense<{padding}> : tensor<{len(size)}x2xi64>}}> ({{\n"
        f"^bb0(%x: {scalar}, %y: {scalar}):\n"
        f"%z = stablehlo.compare {direction}, %x, %y : ({scalar}, {scalar}) -> tensor<i1>\n"
        "stablehlo.return %z : tensor<i1>\n}, {\n"
        f"^bb0(%x: {scalar}, %y: {scalar}):\n%z = stablehlo.{name} %x, %y : {scalar}\n"
        f"stablehlo.return %z : {scalar}\n}}) : {types}\nreturn %r : {spelled(operand)}\n}}"
    )
    (result,) = compiled(text)(operand, source, np.array(start, operand.dtype))
    return result


def one_by_one(
    select: Callable[[Any, Any], Any],
    scatter: Callable[[Any, Any], Any],
    operand: Array,
    source: Array,
    start: Any,
    size: list[int],
    stride: list[int],
    padding: Pairs,
) -> Array:
    """Returns the same, one window after another."""
    result = np.full(operand.shape, start, operand.dtype)
    for window in np.ndindex(source.shape):
        chosen = None
        for place in np.ndindex(*size):
            parts = zip(window, stride, place, padding, operand.shape, strict=True)
            at = [(w * s + p - ends[0], extent) for w, s, p, ends, extent in parts]
            if not all(0 <= position < extent for position, extent in at):
                continue
            here = tuple(position for position, _ in at)
            if chosen is None or not select(operand[chosen], operand[here]):
                chosen = here
        if chosen is not None:
            result[chosen] = scatter(result[chosen], source[window])
    return result


@pytest.mark.parametrize("seed", range(24))
def test_any_selection(seed: int) -> None:
    choice = random.Random(seed)
    rank = choice.randint(1, 3)
    shape = [choice.randint(1, 6) for _ in range(rank)]
    size = [choice.randint(1, min(3, extent)) for extent in shape]
    stride = [choice.randint(1, 3) for _ in range(rank)]
    padding = [[choice.randint(0, each), choice.randint(0, each)] for each in size]
    counts = [
        (extent + sum(ends) - each) // step + 1
        for extent, ends, each, step in zip(shape, padding, size, stride, strict=True)
    ]
    numbers = np.random.default_rng(seed)
    dtype = choice.choice([np.float32, np.int32])
    # Few values, so that many are equal.
    operand = numbers.integers(-2, 3, shape).astype(dtype)
    source = numbers.integers(-9, 9, counts).astype(dtype)
    direction, name = choice.choice(list(COMPARE)), choice.choice(list(SCATTER))
    window = (operand, source, 2, size, stride, padding)
    wanted = one_by_one(COMPARE[direction], SCATTER[name], *window)
    assert scattered(direction, name, *window).tobytes() == wanted.tobytes()


def test_the_first_of_equal_elements_stays_while_select_says_so() -> None:
    operand, source = np.array([5, 5, 5], np.int32), np.array([1, 10], np.int32)
    window = (operand, source, 0, [2], [1], [[0, 0]])
    assert scattered("GE", "add", *window).tolist() == [1, 10, 0]
    assert scattered("GT", "add", *window).tolist() == [0, 1, 10]


def test_values_of_one_place_follow_in_the_order_of_the_windows() -> None:
    operand, source = np.array([1, 9, 1], np.float32), np.array([1.0, 2.0**-24, -1.0], np.float32)
    window = (operand, source, 0.0, [3], [1], [[1, 1]])
    assert scattered("GE", "add", *window).tolist() == [0.0, 0.0, 0.0]
    turned = (operand, source[[0, 2, 1]], 0.0, [3], [1], [[1, 1]])
    assert scattered("GE", "add", *turned).tolist() == [0.0, 2.0**-24, 0.0]


def test_the_padding_is_never_selected() -> None:
    operand, source = np.array([-5.0, -7.0], np.float32), np.array([1, 2, 4, 8], np.float32)
    # The first and the last window hold nothing else.
    window = (operand, source, 3.0, [1], [1], [[1, 1]])
    assert scattered("GE", "add", *window).tolist() == [5.0, 7.0]
    wide = (operand, source[:3], 3.0, [2], [1], [[1, 1]])
    assert scattered("GE", "add", *wide).tolist() == [6.0, 7.0]


def test_a_nan_yields_to_the_next_element() -> None:
    operand, source = np.array([np.nan, 1.0, 2.0, np.nan], np.float32), np.ones(2, np.float32)
    # No comparison with a NaN is true, so that nothing keeps its place before or after one.
    window = (operand, source, 0.0, [2], [2], [[0, 0]])
    assert scattered("GE", "add", *window).tolist() == [0.0, 1.0, 0.0, 1.0]


def test_bfloat16_rounds_at_every_value() -> None:
    operand = np.array([0, 1, 0], ml_dtypes.bfloat16)
    source = np.array([256, 1, 1], ml_dtypes.bfloat16)
    window = (operand, source, 0, [3], [1], [[1, 1]])
    assert scattered("GE", "add", *window).astype(np.float32).tolist() == [0.0, 256.0, 0.0]


def test_both_bodies_may_use_values_from_outside() -> None:
    f = "tensor<f32>"
    text = (
        f"func.func @main(%a: tensor<4xf32>, %s: tensor<2xf32>, %i: {f}, %c: {f}, %d: {f})"
        " -> tensor<4xf32> {\n"
        '%r = "stablehlo.select_and_scatter"(%a, %s, %i) <{window_dimensions = array<i64: 2>,'
        f" window_strides = array<i64: 2>}}> ({{\n^bb0(%x: {f}, %y: {f}):\n"
        f"%w = stablehlo.multiply %x, %c : {f}\n"
        f"%z = stablehlo.compare GE, %w, %y : ({f}, {f}) -> tensor<i1>\n"
        "stablehlo.return %z : tensor<i1>\n}, {\n"
        f"^bb0(%x: {f}, %y: {f}):\n%w = stablehlo.multiply %y, %d : {f}\n"
        f"%z = stablehlo.add %x, %w : {f}\nstablehlo.return %z : {f}\n}})"
        f" : (tensor<4xf32>, tensor<2xf32>, {f}) -> tensor<4xf32>\nreturn %r : tensor<4xf32>\n}}"
    )
    operand, source = np.array([1, 2, 2, 5], np.float32), np.array([3, 4], np.float32)
    arguments = (operand, source, np.float32(0), np.float32(2), np.float32(10))
    assert compiled(text)(*arguments)[0].tolist() == [30.0, 0.0, 0.0, 40.0]
