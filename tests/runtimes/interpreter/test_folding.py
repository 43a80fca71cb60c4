"""Folding: long windows of every size, and the elements that are computed as others."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtimes.interpreter.sliding import named, windows
from topos.runtimes.interpreter.run import compiled
from topos.stablehlo.types import ELEMENTS


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 65, 100, 127, 128])
@pytest.mark.parametrize("low", [True, False])
def test_long_windows_of_every_size(size: int, low: bool) -> None:
    array = np.random.default_rng(size).integers(-99, 99, 130).astype(np.int32)
    ends = [size - 1, 0] if low else [0, size - 1]
    padded = np.pad(array, ends)
    view = np.lib.stride_tricks.sliding_window_view(padded, size)
    for stride in (1, 3, 64):
        got = windows(named("add"), array, 0, [size], stride=[stride], padding=[ends])
        assert got.tobytes() == view[::stride].sum(-1, dtype=np.int32).tobytes()


@pytest.mark.parametrize("signed", [True, False])
def test_short_integers_wrap_in_their_own_bits(signed: bool) -> None:
    element = "i4" if signed else "ui4"
    dtype = ELEMENTS[element]
    values = np.array([7, -8, 5, 6] if signed else [15, 8, 5, 6], np.int64)
    wanted = {"add": [-1, -3, -5] if signed else [7, 13, 11], "maximum": [7, 5, 6]}
    wanted["maximum"] = wanted["maximum"] if signed else [15, 8, 6]
    for name, numbers in wanted.items():
        scalar, types = f"tensor<{element}>", (f"tensor<4x{element}>", f"tensor<3x{element}>")
        start = "0" if name == "add" or not signed else "-8"
        lines = (
            f"func.func @main(%a: {types[0]}) -> {types[1]} {{\n"
            f"%i = stablehlo.constant dense<{start}> : {scalar}\n"
            '%r = "stablehlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 2>}> ({\n'
            f"^bb0(%x: {scalar}, %y: {scalar}):\n%z = stablehlo.{name} %x, %y : {scalar}\n"
            f"stablehlo.return %z : {scalar}\n}}) : ({types[0]}, {scalar}) -> {types[1]}\n"
            f"return %r : {types[1]}\n}}"
        )
        (got,) = compiled(lines)(values.astype(dtype))
        assert got.dtype == dtype
        assert got.astype(np.int64).tolist() == numbers


EXTREMES = [3.0, -0.0, 0.0, -2.0, np.nan, -np.inf, 0.0, -0.0, -0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_extremes_keep_nan_and_order_zeros(dtype: Any) -> None:
    array = np.array(EXTREMES, dtype)
    greatest = [3.0, 0.0, 0.0, np.nan, np.nan, 0.0, 0.0, -0.0]
    least = [-0.0, -0.0, -2.0, np.nan, np.nan, -np.inf, -0.0, -0.0]
    for exact in (True, False):
        got = windows(named("maximum"), array, -np.inf, [2], exact=exact)
        assert got.tobytes() == np.array(greatest, dtype).tobytes()
        got = windows(named("minimum"), array, np.inf, [2], exact=exact)
        assert got.tobytes() == np.array(least, dtype).tobytes()
