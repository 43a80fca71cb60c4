"""Programs: a plan as instructions over named slots, before it becomes Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.engine.layout import Layout
from topos.payload import Shape


class Buffer(NamedTuple):
    """An array of the arena: its layout, whose offset counts from the block, and its dtype."""

    layout: Layout
    dtype: np.dtype[Any]

    def within(self, block: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
        """Returns the array over `block`."""
        shape, strides, offset = self.layout
        return np.ndarray(shape, self.dtype, block.data, offset, strides)


class Instruction(NamedTuple):
    """One call: `target = function(*arguments, out=out)`, then the slots `released` are dropped.

    Everything is a name: of a function, of a slot, or a literal. Without an `out` the result is
    new, or a tuple where there are several targets. It computes `nodes`.
    """

    function: str
    arguments: tuple[str, ...]
    out: str | None
    targets: tuple[str, ...]
    released: tuple[str, ...]
    nodes: tuple[int, ...]


class Program(NamedTuple):
    """The instructions of a plan and what their names stand for.

    `sources` are the nodes that a run brings, `results` the slots it answers,
    `allocated` the arrays that `empty` makes for them. `reused` holds, for a
    node that is written over an operand, that operand. `live` is what the
    program holds while each instruction runs, in bytes: its arena's part, its results so far and
    what kernels allocate, but neither sources nor constants. `beside` is that without the arena's
    part.
    """

    instructions: list[Instruction]
    functions: dict[str, Callable[..., Any]]
    constants: dict[str, Any]
    literals: dict[str, Any]
    buffers: dict[str, Buffer]
    arena: int
    sources: dict[str, int]
    results: dict[int, str]
    allocated: list[tuple[Shape, np.dtype[Any]]]
    reused: dict[int, int]
    live: list[int]
    beside: list[int]
