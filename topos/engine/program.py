"""Programs: a plan as instructions over named slots, before it becomes Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.engine.layout import Layout
from topos.op import Array
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


class Names:
    """Tables from name to meaning that give equal things one name."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}
        self.constants: dict[str, Any] = {}
        self.literals: dict[str, Any] = {}
        self.buffers: dict[str, Buffer] = {}
        self._known: dict[Any, str] = {}
        self._counts: dict[str, int] = {}

    def plain(self, function: Callable[..., Any]) -> str:
        """Returns the function's own name."""
        return self.function(function, function.__name__)

    def function(self, function: Callable[..., Any], name: str) -> str:
        """Returns a name for `function`: a ufunc's own, else `name`, numbered from the second."""
        known = self._known.get(id(function))
        if known is not None:
            return known
        base = function.__name__ if isinstance(function, np.ufunc) else name
        number = self._counts[base] = self._counts.get(base, 0) + 1
        chosen = base if number == 1 else f"{base}_{number}"
        # The table keeps the function alive, and with it its identity.
        self.functions[chosen] = function
        self._known[id(function)] = chosen
        return chosen

    def constant(self, array: Array) -> str:
        """Returns a name for `array`, which nobody writes to."""
        key = (array.dtype, array.tobytes()) if array.ndim == 0 else id(array)
        if key not in self._known:
            self._known[key] = f"c{len(self.constants)}"
            self.constants[self._known[key]] = array
        return self._known[key]

    def literal(self, value: tuple[int, ...] | int) -> str:
        """Returns `value` as it is written."""
        text = str(value)
        self.literals[text] = value
        return text

    def numbered(self, letter: str) -> str:
        """Returns the next name of a slot that begins with `letter`."""
        number = self._counts[letter] = self._counts.get(letter, -1) + 1
        return f"{letter}{number}"

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """Returns a name for `dtype`, such as f4."""
        name = self._known.get(dtype)
        if name is None:
            base = "bf16" if dtype.name == "bfloat16" else f"{dtype.kind}{dtype.itemsize}"
            # Structures and the formats of extensions are told apart by a number alone.
            name = base if base not in self.functions else self.numbered(f"{base}_")
            self.functions[name] = dtype  # type: ignore[assignment]  # A name is a name.
            self._known[dtype] = name
        return name

    def buffer(self, buffer: Buffer) -> str:
        """Returns a name for an array of the arena."""
        if buffer not in self._known:
            self._known[buffer] = f"a{len(self.buffers)}"
            self.buffers[self._known[buffer]] = buffer
        return self._known[buffer]
