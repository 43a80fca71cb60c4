"""What a sample is: an operation on small drawn operands, spelled here and in jax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topos import Tape, Tensor, Value
from topos.compiler import Element, Operation
from topos.payload.kernels.conversion import convert

__all__ = ["Draw", "Sample", "indices", "mask", "numbers"]


class Draw(NamedTuple):
    """One operand: its payload for a sample's element, and whether it is data (no gradient)."""

    payload: Callable[[Element], Tensor]
    is_data: bool = False


class Sample(NamedTuple):
    """An operation on small operands; `express` speaks the vocabulary, `jax` speaks jax.numpy."""

    name: str
    operation: type[Operation]
    elements: tuple[Element, ...]
    draws: tuple[Draw, ...]
    express: Callable[..., Any]
    jax: Callable[..., Any]

    def record(self, tape: Tape, element: Element) -> tuple[Value, list[Value]]:
        """Records the sample; returns its result and the operands, parameters unless data."""
        operands = [
            (tape.input if draw.is_data else tape.parameter)(draw.payload(element))
            for draw in self.draws
        ]
        return self.express(*operands), operands


def numbers(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Draw:
    """Draws distinct numbers between `low` and `high`; integers are rounded, booleans signs."""

    def payload(element: Element) -> Tensor:
        count = int(np.prod(shape))
        order = np.random.default_rng(seed).permutation(count)
        values = (low + (high - low) * (order + 0.37) / max(count, 1)).reshape(shape)
        if element.dtype.kind == "i":
            values = np.round(values * 4)
        if element.dtype.kind == "b":
            values = (values > 0).astype(np.float64)
        return Tensor.wrap(convert(values, element.dtype), element)

    return Draw(payload)


def indices(*positions: int, shape: tuple[int, ...]) -> Draw:
    """Draws the given i32 positions; they are data."""
    array = np.array(positions, np.int32).reshape(shape)
    return Draw(lambda _: Tensor(array), is_data=True)


def mask(*bits: int, shape: tuple[int, ...]) -> Draw:
    """Draws a bool mask; it is data."""
    array = np.array(bits, np.bool_).reshape(shape)
    return Draw(lambda _: Tensor(array), is_data=True)
