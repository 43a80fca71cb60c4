"""Attention at home: the scores of one slice at a time, which stay in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.engine.catalog.attention import Attention
from topos.engine.numerics import Numerics
from topos.payload import TensorType

__all__ = ["home"]

Array = npt.NDArray[Any]


def home(
    form: Attention, types: Sequence[TensorType], numerics: Numerics
) -> Callable[..., Array] | None:
    """Returns the kernel that scales the queries, not the scores, and divides the results."""
    if numerics is Numerics.EXACT:
        return None
    number = 1.0 if form.scale is None else form.scale
    return _Attention(form, 1.0 / number if form.divides else number)


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
        scores = np.empty((queries.shape[-2], columns.shape[-1]), queries.dtype)
        for place in np.ndindex(*shape[:-2]):
            part = [each[place] for each in mask]
            self._attend(queries[place], columns[place], values[place], part, scores, result[place])
        return result

    def _attend(
        self,
        queries: Array,
        columns: Array,
        values: Array,
        mask: Sequence[Array],
        scores: Array,
        target: Array,
    ) -> None:
        """Writes one slice to `target`; `scores` is scratch."""
        np.matmul(queries * queries.dtype.type(self.scale), columns, out=scores)
        if mask and self.form.fill is None:
            np.add(scores, mask[0], out=scores)
        elif mask:
            np.copyto(scores, scores.dtype.type(self.form.fill), where=~mask[0])
        largest = scores.max(-1, keepdims=True)
        largest[~np.isfinite(largest)] = 0
        np.subtract(scores, largest, out=scores)
        np.exp(scores, out=scores)
        totals = np.add.reduce(scores, axis=-1, keepdims=True)
        np.matmul(scores, values, out=target)
        np.divide(target, totals, out=target)
