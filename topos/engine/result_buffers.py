"""Result buffers: memory for results, taken again once nothing refers to the result that had it."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from topos.op import Array
from topos.payload import Shape, size

Kind = tuple[Shape, np.dtype[Any]]

# A smaller array comes from the allocator's own lists; a larger one may cost a page fault for each
# four kilobytes, which takes longer than filling it.
_LARGE: Final = 1 << 16
# An array in a local name, and the argument of the question itself.
_UNSHARED: Final = 2


class ResultBuffers:
    """A source of uninitialized arrays: a new one, or one of its own that nobody else holds.

    Every view of an array holds it, so that one with a single reference has no view, no reader and
    no owner. Where the interpreter counts references lazily, every array is new. `kinds` holds the
    shape and dtype of each array that one run takes; it remembers as many as two runs take.
    """

    def __init__(self, kinds: Iterable[Kind]) -> None:
        counts = getattr(sys, "_is_gil_enabled", _always)()
        self._limits = Counter(kind for kind in kinds if counts and _bytes(*kind) >= _LARGE)
        self._arrays: dict[Kind, deque[Array]] = {kind: deque() for kind in self._limits}

    def empty(self, shape: Shape, dtype: np.dtype[Any]) -> Array:
        """Returns an array of `shape` and `dtype`, whose numbers are left over."""
        arrays = self._arrays.get((shape, dtype))
        if arrays is None:
            return np.empty(shape, dtype)
        for _ in range(len(arrays)):
            try:
                # What is taken out of the line, no other thread can find.
                array = arrays.popleft()
            except IndexError:
                break
            free = sys.getrefcount(array) == _UNSHARED
            arrays.append(array)
            if free:
                return array
        if len(arrays) >= 2 * self._limits[shape, dtype]:
            # Callers who keep their results keep them alone.
            arrays.popleft()
        array = np.empty(shape, dtype)
        arrays.append(array)
        return array


def _bytes(shape: Shape, dtype: np.dtype[Any]) -> int:
    return size(shape) * dtype.itemsize


def _always() -> bool:
    return True
