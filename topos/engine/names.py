"""Names: what a program calls its functions, constants, dtypes and arrays of the arena."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from topos.engine.program import Buffer
from topos.op import Array


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
        name = "bf16" if dtype.kind == "V" else f"{dtype.kind}{dtype.itemsize}"
        self.functions.setdefault(name, dtype)  # type: ignore[arg-type]  # A name is a name.
        return name

    def buffer(self, buffer: Buffer) -> str:
        """Returns a name for an array of the arena."""
        if buffer not in self._known:
            self._known[buffer] = f"a{len(self.buffers)}"
            self.buffers[self._known[buffer]] = buffer
        return self._known[buffer]
