"""Copies: the arguments that every call of a plan copies, noted as they come and told once each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final
from weakref import ref

import numpy as np

from topos.engine.description import Copied, Port
from topos.errors import CopyWarning
from topos.graph import Columns, Symbol
from topos.graph.symbol import user_stacklevel
from topos.op import Array
from topos.payload.storage import ALIGNMENT, SMALL

LAYOUT: Final = "not row-major"
PLACE: Final = f"not at a multiple of {ALIGNMENT} bytes"
# Below this many bytes a copy for the sake of the place costs less than the looking.
LARGE: Final = 1 << 20


class Copies:
    """What calls had to copy of their arguments; any number of threads may note at once."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._noted: dict[tuple[int, str], Copied] = {}
        self._last: dict[int, ref[Any]] = {}

    def noted(self) -> tuple[Copied, ...]:
        """Returns each argument that a call copied, with the reason."""
        return tuple(copied for _, copied in sorted(self._noted.items()))

    def demand(self, ports: Sequence[Port], arrays: Sequence[Array], *, in_place: bool) -> None:
        """Notes what a runtime has to copy; one that reads `in_place` needs row-major and aligned.

        A large argument at another address is noted, and warned of, where it comes again: one
        that comes once is copied once, wherever it lies.
        """
        for port, array in zip(ports, arrays, strict=True):
            if not array.flags.c_contiguous:
                self.demand_layout(port.symbol.position, array)
            elif in_place and array.nbytes >= LARGE and array.ctypes.data % ALIGNMENT:
                self._misplaced(port.symbol.position, array)

    def demand_layout(self, index: int, array: Array) -> None:
        """Notes the array of the source at `index`, which is not row-major, and warns of it."""
        self._note(index, array, LAYOUT, "numpy.ascontiguousarray or a Tensor of it, made once")

    def _misplaced(self, index: int, array: Array) -> None:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        last, self._last[index] = self._last.get(index), ref(owner)
        if last is not None and last() is owner:
            self._note(index, array, PLACE, "a Tensor of it, made once, or bind it")

    def _note(self, index: int, array: Array, reason: str, instead: str) -> None:
        if (index, reason) in self._noted:
            return
        columns = self._columns
        symbol = Symbol(columns.origin, index)
        port = Port(symbol, columns.labels.get(index), columns.forms[index].type)
        copied = self._noted[index, reason] = Copied(port, array.nbytes, reason)
        if array.nbytes >= SMALL:
            message = f"every call copies {copied}: bring {instead}"
            warnings.warn(message, CopyWarning, stacklevel=user_stacklevel())
