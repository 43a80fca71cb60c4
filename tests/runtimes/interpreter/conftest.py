"""What the tests of the interpreter share: a way to run a few lines of StableHLO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.runtimes.interpreter import run_text
from topos.stablehlo.types import ELEMENTS

Array = npt.NDArray[Any]
Run = Callable[..., Array]

NAMES = {dtype.name: element for element, dtype in ELEMENTS.items()}


def spelled(array: Array) -> str:
    """Returns the MLIR type of an array."""
    extents = "".join(f"{extent}x" for extent in array.shape)
    return f"tensor<{extents}{NAMES[array.dtype.name]}>"


@pytest.fixture
def run() -> Run:
    """Runs `body`, whose `%r` is of the type `result`, on arguments called `%a`, `%b`, ..."""

    def of(body: str, result: str, *arguments: npt.ArrayLike) -> Array:
        arrays = [np.asarray(argument) for argument in arguments]
        names = ", ".join(
            f"%{letter}: {spelled(array)}" for letter, array in zip("abcdefg", arrays, strict=False)
        )
        text = f"func.func @main({names}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
        (value,) = run_text(text, arrays)
        return value

    return of
