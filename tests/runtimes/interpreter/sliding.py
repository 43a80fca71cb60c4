"""A reduction of windows by one body, as the tests of windows run it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.runtimes.interpreter.conftest import NAMES, spelled
from topos.runtimes.interpreter.run import compiled

__all__ = ["Pairs", "named", "windows"]

Array = npt.NDArray[Any]
Pairs = list[list[int]]


def windows(
    body: str,
    array: Array,
    start: Any,
    size: list[int],
    *,
    stride: list[int] | None = None,
    padding: Pairs | None = None,
    base: list[int] | None = None,
    dilation: list[int] | None = None,
    exact: bool = True,
) -> Array:
    """Returns the windows of `array` reduced by `body`, lines that define `%z` from `%x`, `%y`."""
    rank = array.ndim
    ones = [1] * rank
    stride, base, dilation = stride or ones, base or ones, dilation or ones
    padding = padding or [[0, 0]] * rank
    shape = []
    for axis, extent in enumerate(array.shape):
        padded = (extent - 1) * base[axis] + 1 + sum(padding[axis])
        span = (size[axis] - 1) * dilation[axis] + 1
        shape.append((padded - span) // stride[axis] + 1 if span <= padded else 0)
    element = NAMES[array.dtype.name]
    scalar, result = f"tensor<{element}>", spelled(np.zeros(shape, array.dtype))
    lists = {
        "window_dimensions": size,
        "window_strides": stride,
        "base_dilations": base,
        "window_dilations": dilation,
    }
    attributes = "".join(
        f"{key} = array<i64: {', '.join(map(str, value))}>, " for key, value in lists.items()
    )
    text = (
        f"func.func @main(%a: {spelled(array)}, %i: {scalar}) -> {result} {{\n"
        f'%r = "stablehlo.reduce_window"(%a, %i) <{{{attributes}'
        f"padding = dense<{padding}> : tensor<{rank}x2xi64>}}> ({{\n"
        f"^bb0(%x: {scalar}, %y: {scalar}):\n{body.replace('T', scalar)}\n"
        f"stablehlo.return %z : {scalar}\n}}) : ({spelled(array)}, {scalar}) -> {result}\n"
        f"return %r : {result}\n}}"
    )
    (value,) = compiled(text, exact)(array, np.array(start, array.dtype))
    return value


def named(name: str) -> str:
    """Returns the body of one operation."""
    return f"%z = stablehlo.{name} %x, %y : T"
