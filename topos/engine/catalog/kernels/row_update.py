"""The row update at home: a copy, unless the value gives its memory, and one row written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topos.engine.catalog.row_update import RowUpdate
from topos.engine.choices import Choices
from topos.op import Array
from topos.payload import TensorType


def home(form: RowUpdate, types: Sequence[TensorType], choices: Choices) -> Rows:
    """Returns the kernel, whose result has the very bits of what it moves."""
    return Rows(form.axis)


@dataclass(frozen=True, slots=True)
class Rows:
    """The kernel; the result may be written over the value, the operand `over`."""

    axis: int
    over: tuple[int, ...] = (0,)

    def __call__(
        self, value: Array, row: Array, place: Array, *, out: Array | None = None
    ) -> Array:
        result = np.empty(value.shape, value.dtype) if out is None else out
        if result.ctypes.data != value.ctypes.data:
            np.copyto(result, value)
        at = int(place)
        if 0 <= at < value.shape[self.axis]:
            index: tuple[slice | int, ...] = (*[slice(None)] * self.axis, at)
            result[index] = row
        return result
