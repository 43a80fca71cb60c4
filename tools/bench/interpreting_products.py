"""Products, convolutions and windows of the interpreter beside numpy, on one thread.

Each row runs one operation as StableHLO text in both postures and, in the same turns, what one
would write with numpy for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

# What numpy's BLAS reads when it is first imported.
SETTING: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
if any(os.environ.get(name) != value for name, value in SETTING.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **SETTING})

import numpy as np  # noqa: E402  # numpy must find the environment set.
import numpy.typing as npt  # noqa: E402  # See above.
from timing import interleaved, report  # noqa: E402  # See above.

from topos.runtimes import load  # noqa: E402  # See above.
from topos.runtimes.interpreter.run import compiled  # noqa: E402  # See above.

Array = npt.NDArray[Any]

ROUNDS: Final = 5
F: Final = "tensor<f32>"
PLANE, HALVED = (1000, 1000), (500, 500)
REFERRED: Final = 64


class Row(NamedTuple):
    """An operation: its text, its arguments, numpy's way, and the multiplications it takes."""

    title: str
    text: str
    arguments: tuple[Array, ...]
    rival: Callable[..., object]
    target: str
    products: int = 0


def typed(shape: tuple[int, ...]) -> str:
    """Returns the type of a float32 tensor."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}f32>"


def numbers(*shape: int) -> Array:
    """Returns random float32 numbers."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def product(size: int) -> Row:
    """Returns the row of a square matrix product."""
    square = typed((size, size))
    text = (
        f"func.func @main(%a: {square}, %b: {square}) -> {square} {{\n"
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]"
        f" : ({square}, {square}) -> {square}\nreturn %r : {square}\n}}"
    )
    arguments = (numbers(size, size), numbers(size, size))
    title = f"dot_general {size}x{size} f32 against np.matmul"
    return Row(title, text, arguments, np.matmul, "Exact 1.5 GFLOP/s", size**3)


def convolution(channels: int, groups: int) -> Row:
    """Returns the row of a 3x3 convolution of two images, padded to their own size."""
    shapes = (2, 56, 56, channels), (3, 3, channels // groups, channels)
    source, kernel = map(typed, shapes)
    text = (
        f"func.func @main(%a: {source}, %b: {kernel}) -> {source} {{\n"
        "%r = stablehlo.convolution(%a, %b)"
        " dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],"
        " window = {pad = [[1, 1], [1, 1]]}"
        f" {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}"
        f" : ({source}, {kernel}) -> {source}\nreturn %r : {source}\n}}"
    )
    arguments = tuple(numbers(*shape) for shape in shapes)
    depthwise = groups > 1
    rival = partial(shifted, np.multiply if depthwise else np.matmul)
    title = f"convolution of {channels} channels in {groups} groups against nine shifted products"
    count = 2 * 56 * 56 * channels * 9 * (channels // groups)
    return Row(title, text, arguments, rival, "Fast 2x or less", count)


def shifted(combine: Callable[[Array, Array], Array], source: Array, kernel: Array) -> Array:
    """Returns a 3x3 convolution as a sum over the kernel's places."""
    padded = np.pad(source, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows, columns = source.shape[1:3]
    total = np.zeros((*source.shape[:3], kernel.shape[-1]), np.float32)
    for row, column in np.ndindex(3, 3):
        window = padded[:, row : row + rows, column : column + columns]
        total += combine(window, kernel[row, column])
    return total


def windows(
    title: str, name: str, start: str, windows: str, shapes: tuple[Any, Any], rival: Any
) -> Row:
    """Returns the row of a window reduction by one operation."""
    source, result = map(typed, shapes)
    text = (
        f"func.func @main(%a: {source}) -> {result} {{\n%i = stablehlo.constant dense<{start}>"
        f' : {F}\n%r = "stablehlo.reduce_window"(%a, %i) <{{{windows}}}> ({{\n'
        f"^bb0(%x: {F}, %y: {F}):\n%z = stablehlo.{name} %x, %y : {F}\n"
        f"stablehlo.return %z : {F}\n}}) : ({source}, {F}) -> {result}\n"
        f"return %r : {result}\n}}"
    )
    return Row(title, text, (numbers(*shapes[0]),), rival, "2x or less")


def pooled(combine: np.ufunc, fill: float, array: Array) -> Array:
    """Returns 3x3 windows at every other place, padded by one."""
    padded = np.pad(array, 1, constant_values=fill)
    rows, columns = ((extent - 1) // 2 * 2 + 1 for extent in array.shape)
    result = padded[0:rows:2, 0:columns:2].copy()
    for row, column in list(np.ndindex(3, 3))[1:]:
        combine(result, padded[row : row + rows : 2, column : column + columns : 2], out=result)
    return result


def pooling(combine: np.ufunc, name: str, start: str, fill: float) -> Row:
    """Returns the row of windows at every other place of a plane."""
    attributes = (
        "window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>,"
        " padding = dense<1> : tensor<2x2xi64>"
    )
    title = f"3x3 windows by {name}, stride 2, of a million against numpy's slices"
    return windows(title, name, start, attributes, (PLANE, HALVED), partial(pooled, combine, fill))


def running() -> Row:
    """Returns the row of running sums down the columns of a plane."""
    attributes = (
        "window_dimensions = array<i64: 1000, 1>,"
        " padding = dense<[[999, 0], [0, 0]]> : tensor<2x2xi64>"
    )
    title = "running sums of a thousand rows against np.cumsum"
    return windows(title, "add", "0.0", attributes, (PLANE, PLANE), partial(np.cumsum, axis=0))


def rows() -> list[Row]:
    """Returns the measurements."""
    return [
        product(256),
        product(512),
        convolution(64, 1),
        convolution(64, 64),
        pooling(np.maximum, "maximum", "0xFF800000", -np.inf),
        pooling(np.add, "add", "0.0", 0.0),
        running(),
    ]


def referred() -> None:
    """Prints how much faster than the reference interpreter a small product runs exactly.

    The reference, which jaxlib carries, takes element by element; its rate hardly depends on the
    size, and a larger product would take it minutes.
    """
    row = product(REFERRED)
    reference = load("reference")
    if not reference.status().ready:
        print(f"no reference interpreter: {reference.status().reason}")
        return
    calls = {"exact": compiled(row.text), "reference": reference.compile(row.text)}
    best = interleaved(
        {name: partial(call, *row.arguments) for name, call in calls.items()}, ROUNDS
    )
    rates = {name: 2e-9 * row.products / seconds for name, seconds in best.items()}
    figures = {name: f"{rate:.4f} GFLOP/s" for name, rate in rates.items()}
    title = f"dot_general {REFERRED}x{REFERRED} f32 beside the reference interpreter"
    report(title, figures, rates["exact"] / rates["reference"], "how many times as fast")


def measure(row: Row) -> None:
    """Times one row and prints it."""
    exact, fast = (compiled(row.text, posture) for posture in (True, False))
    calls: dict[str, Callable[..., object]] = {"exact": exact, "fast": fast, "numpy": row.rival}
    for call in calls.values():
        call(*row.arguments)
    best = interleaved(
        {name: partial(call, *row.arguments) for name, call in calls.items()}, ROUNDS
    )
    figures = {name: f"{1e3 * seconds:.2f} ms" for name, seconds in best.items()}
    if row.products:
        rates = {name: 2e-9 * row.products / seconds for name, seconds in best.items()}
        figures = {name: f"{figures[name]} {rates[name]:.1f} GFLOP/s" for name in best}
    report(row.title, figures, best["fast"] / best["numpy"], row.target)


if __name__ == "__main__":
    for each in rows():
        measure(each)
    referred()
