"""Attention at home: the scores of a few heads at a time, which stay in the cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from topos.engine.catalog.attention import Attention
from topos.engine.catalog.pattern import INEXACT
from topos.engine.choices import Choices
from topos.op import Array
from topos.payload import TensorType

# The bytes of scores that are held at once.
_BYTES: Final = 1 << 18


def home(
    form: Attention, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array] | str:
    """Returns the kernel that scales the queries, not the scores, and divides the results.

    A factor that is no normal number of the element, such as the reciprocal of a zero, is left to
    the nodes: the queries would lose what the scores keep.
    """
    if choices.exact:
        return INEXACT
    number = 1.0 if form.scale is None else form.scale
    if form.divides:
        number = 1.0 / number if number else math.inf
    limits = np.finfo(types[0].element.dtype)
    if not float(limits.tiny) <= abs(number) <= float(limits.max):
        return f"a kernel needs a factor that is a normal number of {types[0].element}"
    return _Attention(form, number)


@dataclass(frozen=True, slots=True)
class _Attention:
    """The kernel for one form; the scores are multiplied by `scale`."""

    form: Attention
    scale: float

    def __call__(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        *mask: Array,
        out: Array | None = None,
    ) -> Array:
        columns = np.swapaxes(keys, -1, -2) if self.form.keys_turned else keys
        shape = (*queries.shape[:-1], values.shape[-1])
        result = np.empty(shape, queries.dtype) if out is None else out
        self._divide(queries, columns, values, *mask, target=result)
        return result

    def _divide(
        self, queries: Array, columns: Array, values: Array, *mask: Array, target: Array
    ) -> None:
        """Writes the results of as many leading slices at a time as have room for their scores."""
        parts = (queries, columns, values, *mask)
        each = math.prod(queries.shape[1:-1]) * columns.shape[-1] * queries.itemsize
        size = max(1, _BYTES // each)
        if queries.ndim == 2 or len(queries) <= size:
            self._attend(*parts, target=target)
            return
        for start in range(0, len(queries), size):
            if size == 1:
                self._divide(*(part[start] for part in parts), target=target[start])
            else:
                box = slice(start, start + size)
                self._attend(*(part[box] for part in parts), target=target[box])

    def _attend(
        self, queries: Array, columns: Array, values: Array, *mask: Array, target: Array
    ) -> None:
        """Writes a stack of results to `target`."""
        scores = np.matmul(queries * queries.dtype.type(self.scale), columns)
        if mask and self.form.fill is None:
            np.add(scores, mask[0], out=scores)
        elif mask:
            np.copyto(scores, scores.dtype.type(self.form.fill), where=~mask[0])
        largest = scores.max(-1, keepdims=True)
        largest[~np.isfinite(largest)] = 0
        np.subtract(scores, largest, out=scores)
        np.exp(scores, out=scores)
        # The library's product adds up several times as fast as a reduction does.
        totals = np.matmul(scores, np.ones(scores.shape[-1], scores.dtype))
        np.matmul(scores, values, out=target)
        np.divide(target, totals[..., None], out=target)
