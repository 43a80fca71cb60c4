"""Small bundles that the serving tests share, and what numpy says their models answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from topos import Element, Plan, Tape, bf16, relu
from topos.bundle import Bundle, export

__all__ = ["FEATURES", "exported_mlp", "exported_pair", "exported_total", "truth"]

Array = npt.NDArray[Any]

FEATURES = 6


def exported_mlp(
    path: Path, rows: Sequence[int] = (1, 4, 8), scale: float = 1.0, name: str | None = "mlp"
) -> Bundle:
    """A layer and a rectifier over rows of `x`; the result `scores` is `truth(x, scale)`."""
    return export(path, [_mlp(count, scale) for count in rows], batched=True, name=name)


def exported_pair(path: Path, element: Element = bf16, name: str = "pair") -> Bundle:
    """Two results of two inputs, rows in front, in bfloat16 or another element."""
    plans = []
    for rows in (2, 4):
        tape = Tape(element=element)
        x, y = (tape.input(np.zeros((rows, 3)).tolist(), name=name) for name in ("x", "y"))
        total, product = (x + y).named("total"), (x * y).named("product")
        plans.append(tape.into_network().entry([total.symbol, product.symbol]).lower())
    return export(path, plans, batched=True, name=name)


def exported_total(path: Path) -> Bundle:
    """The sum over both axes of one matrix: no rows that leave each other alone."""
    tape = Tape()
    x = tape.input(np.zeros((3, 2), np.float32), name="x")
    total = x.sum().named("total")
    return export(path, tape.into_network().entry([total.symbol]).lower(), name="total")


def truth(x: Array, scale: float = 1.0) -> Array:
    """What the model of `exported_mlp` answers; weights are small integers, so bits are exact."""
    scores: Array = np.maximum(x @ _weights(scale), 0)
    return scores


def _mlp(rows: int, scale: float) -> Plan:
    tape = Tape()
    x = tape.input(np.zeros((rows, FEATURES), np.float32), name="x")
    w = tape.parameter(_weights(scale), name="w")
    scores = relu(x @ w).named("scores")
    return tape.into_network().entry([scores.symbol]).lower()


def _weights(scale: float) -> Array:
    numbers = np.arange(FEATURES * 3, dtype=np.float32).reshape(FEATURES, 3) % 5 - 2
    return numbers * np.float32(scale)
