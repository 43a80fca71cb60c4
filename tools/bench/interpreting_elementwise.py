"""Elementwise operations in the interpreter, in the fast posture, beside numpy by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from timing import interleaved, report

from topos.runtimes.interpreter import RUNTIME
from topos.stablehlo.types import ELEMENTS

SIZE = 1_000_000
RANDOM = np.random.default_rng(0)
NAMES = {dtype.name: element for element, dtype in ELEMENTS.items()}
Array = np.ndarray[Any, Any]


def function(lines: str, result: str, *arrays: Array) -> Callable[..., Any]:
    """Returns `lines`, which define `%r` from `%a`, `%b` and `%c`, compiled."""
    pairs = zip("abc", arrays, strict=False)
    heads = ", ".join(f"%{name}: {typed(NAMES[array.dtype.name])}" for name, array in pairs)
    text = (
        f"func.func @main({heads}) -> {typed(result)} {{\n{lines}\nreturn %r : {typed(result)} }}"
    )
    return RUNTIME.compile(text, numerics="fast")


def typed(element: str) -> str:
    """Returns the type of an array of SIZE elements."""
    return f"tensor<{SIZE}x{element}>"


def measured(
    title: str, ours: Callable[..., Any], rival: Callable[..., Array], *arrays: Array
) -> None:
    """Prints the seconds of `ours` beside those of `rival`, which gives the same."""
    got, due = (np.asarray(each, np.float64) for each in (ours(*arrays)[0], rival(*arrays)))
    np.testing.assert_allclose(got, due, rtol=1e-5)
    rivals = {"ours": partial(ours, *arrays), "numpy": partial(rival, *arrays)}
    best = interleaved(rivals, rounds=25)
    figures = {name: f"{seconds * 1e3:.3f} ms" for name, seconds in best.items()}
    report(f"{title}, {SIZE} elements", figures, best["ours"] / best["numpy"], "must be at most 2x")


def main() -> None:
    """Measures single operations and a chain of five, then integers and conversions."""
    for dtype in (np.float32, np.float64):
        left, right = (RANDOM.uniform(0.5, 2.0, SIZE).astype(dtype) for _ in range(2))
        element = NAMES[np.dtype(dtype).name]
        for name, ufunc in (("add", np.add), ("multiply", np.multiply), ("divide", np.divide)):
            lines = f"%r = stablehlo.{name} %a, %b : {typed(element)}"
            ours = function(lines, element, left, right)
            measured(f"{name} {element}", ours, ufunc, left, right)
        for name, ufunc in (("exponential", np.exp), ("tanh", np.tanh), ("sqrt", np.sqrt)):
            ours = function(f"%r = stablehlo.{name} %a : {typed(element)}", element, left)
            measured(f"{name} {element}", ours, ufunc, left)
        lines = f"""%0 = stablehlo.multiply %a, %b : {typed(element)}
        %1 = stablehlo.add %0, %a : {typed(element)}
        %2 = stablehlo.maximum %1, %b : {typed(element)}
        %3 = stablehlo.compare GT, %2, %a : ({typed(element)}, {typed(element)}) -> {typed("i1")}
        %r = stablehlo.select %3, %2, %0 : {typed("i1")}, {typed(element)}"""
        ours = function(lines, element, left, right)
        measured(f"a chain of five {element}", ours, chain, left, right)
    integers()
    conversions()


def integers() -> None:
    """Measures operations of integers beside numpy's, the corner cases looked for once."""
    whole = RANDOM.integers(-1000, 1000, SIZE).astype(np.int32)
    ours = function(f"%r = stablehlo.multiply %a, %a : {typed('i32')}", "i32", whole)
    measured("multiply i32", ours, np.square, whole)
    ours = function(f"%r = stablehlo.abs %a : {typed('i32')}", "i32", whole)
    measured("abs i32", ours, np.abs, whole)
    for dtype in (np.int8, np.uint8, np.int32, np.int64):
        element = NAMES[np.dtype(dtype).name]
        left = RANDOM.integers(0, 100, SIZE).astype(dtype)
        amount = RANDOM.integers(0, 8 * left.itemsize, SIZE).astype(dtype)
        right = RANDOM.integers(1, 100, SIZE).astype(dtype)
        for name, rival, other in (
            ("shift_left", partial(shifted, np.left_shift), amount),
            ("shift_right_logical", partial(shifted, np.right_shift), amount),
            ("divide", partial(divided, np.floor_divide), right),
            ("remainder", partial(divided, np.fmod), right),
        ):
            ours = function(
                f"%r = stablehlo.{name} %a, %b : {typed(element)}", element, left, other
            )
            measured(f"{name} {element}", ours, rival, left, other)


def conversions() -> None:
    """Measures conversions beside numpy's, the corner cases looked for once."""
    numbers = RANDOM.uniform(0, 100, SIZE).astype(np.float32)
    for source, target in (
        (np.float32, np.int32),
        (np.float32, np.int8),
        (np.float64, np.int64),
        (np.int32, np.float32),
        (ml_dtypes.bfloat16, np.float32),
        (np.float32, ml_dtypes.bfloat16),
    ):
        names = [NAMES[np.dtype(dtype).name] for dtype in (source, target)]
        types = [typed(name) for name in names]
        array = numbers.astype(source)
        lines = f"%r = stablehlo.convert %a : ({types[0]}) -> {types[1]}"
        ours = function(lines, names[1], array)
        measured(f"convert {names[0]} to {names[1]}", ours, partial(within, target), array)


def within(target: Any, array: Array) -> Array:
    """Returns numpy's own conversion where no number is NaN or outside the target's range.

    From integers to floats none is, so nothing is asked.
    """
    if np.dtype(target).kind == "i":
        assert array.min() >= 0
        assert array.max() <= 100
        return array.astype(target)
    result = array.astype(target)
    assert array.dtype.kind == "i" or not np.isnan(
        (array if target != np.float32 else result).max()
    )
    return result


def shifted(shift: np.ufunc, array: Array, amount: Array) -> Array:
    """Returns numpy's shift where no amount is outside the width."""
    assert amount.max() < 8 * array.itemsize
    assert amount.min() >= 0
    return np.asarray(shift(array, amount))


def divided(divide: np.ufunc, left: Array, right: Array) -> Array:
    """Returns numpy's division, which suits where no operand is negative and no divisor zero."""
    assert left.min() >= 0
    assert right.min() > 0
    return np.asarray(divide(left, right))


def chain(left: Array, right: Array) -> Array:
    """Returns the chain of `main` as a numpy user writes it."""
    product = left * right
    larger = np.maximum(product + left, right)
    return np.where(larger > left, larger, product)


if __name__ == "__main__":
    main()
