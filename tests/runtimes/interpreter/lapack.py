"""What the tests of LAPACK's targets share: a way to call one, and matrices for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.runtimes.interpreter.conftest import spelled
from topos.runtimes.interpreter import run_text

__all__ = ["LETTERS", "TYPES", "adjoint", "call", "close", "info", "numbers"]

Array = npt.NDArray[Any]

RNG = np.random.default_rng(23)
LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
TYPES = ["f", "d", "F", "D"]


def numbers(code: str, *shape: int) -> Array:
    values = RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)
    return np.asarray((values if code.isupper() else values.real).astype(code))


def adjoint(array: Array) -> Array:
    return np.conjugate(np.swapaxes(array, -1, -2))


def layout(array: Array, batch: int, by_rows: bool) -> str:
    axes = list(range(array.ndim))
    order = [*axes[batch:], *axes[:batch][::-1]] if array.ndim == batch + 2 else axes[::-1]
    if by_rows:
        order = axes[::-1]
    return f"dense<{order or ''}> : tensor<{len(order)}xindex>"


def call(
    target: str,
    operands: Sequence[Array],
    results: Sequence[Array],
    configuration: str = "",
    by_rows: bool = False,
) -> list[Array]:
    """Returns the results of a target, whose shapes and dtypes are those of `results`."""
    batch = max(operand.ndim for operand in operands) - 2
    names = [f"%a{place}" for place in range(len(operands))]
    types = [spelled(operand) for operand in operands]
    returned = ", ".join(spelled(result) for result in results)
    layouts = [
        ", ".join(layout(array, batch, by_rows) for array in arrays)
        for arrays in (operands, results)
    ]
    whole = f"%r:{len(results)}" if len(results) > 1 else "%r"
    each = ", ".join(f"%r#{place}" for place in range(len(results))) if len(results) > 1 else "%r"
    signature = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
    return run_text(
        f"func.func @main({signature}) -> ({returned}) {{\n"
        f"{whole} = stablehlo.custom_call @lapack_{target}_ffi({', '.join(names)})"
        f" {{mhlo.backend_config = {{{configuration}}}, operand_layouts = [{layouts[0]}],"
        f" result_layouts = [{layouts[1]}]}} : ({', '.join(types)}) -> ({returned})\n"
        f"return {each} : {returned}\n}}",
        list(operands),
    )


def info(*batch: int) -> Array:
    return np.zeros(batch, np.int32)


def close(got: Array, wanted: Array) -> None:
    bound = 1e-4 if wanted.dtype.char in "fF" else 1e-11
    scale = np.abs(wanted).max(initial=1.0)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=bound * scale)
