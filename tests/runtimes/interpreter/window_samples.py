"""Random gathers and scatters, small ones, with the element that the specification says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Sample", "samples"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Sample:
    """Dimension numbers over an operand of `shape`, by the names that gather has for them.

    `sizes` are a window's extents; the windows along `offsets` of the result, or of the updates,
    and the indices along its other axes make up `outer`.
    """

    shape: list[int]
    collapsed: list[int]
    batching: list[int]
    along: list[int]
    components: list[int]
    vector: int
    sizes: list[int]
    indices: list[int]
    offsets: list[int]
    outer: list[int]

    def start(self, indices: Array, place: tuple[int, ...], clamped: bool) -> list[int]:
        """Returns where the window of one element of `outer` starts."""
        batch = [at for axis, at in enumerate(place) if axis not in self.offsets]
        vectors = np.moveaxis(indices, self.vector, -1)
        start = [0] * len(self.shape)
        for axis, at in zip(self.components, vectors[tuple(batch)], strict=True):
            start[axis] = int(at)
        if clamped:
            limits = [whole - size for whole, size in zip(self.shape, self.sizes, strict=True)]
            start = [min(max(at, 0), limit) for at, limit in zip(start, limits, strict=True)]
        for axis, along in zip(self.batching, self.along, strict=True):
            start[axis] = batch[along - (along > self.vector)]
        return start

    def element(self, indices: Array, place: tuple[int, ...], clamped: bool) -> tuple[int, ...]:
        """Returns the operand's element that one element of `outer` is; it may lie outside."""
        element = self.start(indices, place, clamped)
        kept = [
            axis
            for axis in range(len(self.shape))
            if axis not in self.collapsed and axis not in self.batching
        ]
        for axis, offset in zip(kept, self.offsets, strict=True):
            element[axis] += place[offset]
        return tuple(element)

    def inside(self, element: tuple[int, ...]) -> bool:
        """Returns whether the operand has `element`."""
        return all(0 <= at < extent for at, extent in zip(element, self.shape, strict=True))


def samples(seed: int, count: int) -> Iterator[tuple[Sample, np.random.Generator]]:
    """Yields `count` samples, with the source of randomness that made them."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield _sample(random), random


def _sample(random: np.random.Generator) -> Sample:
    rank = int(random.integers(1, 4))
    shape = random.integers(1, 6, rank).tolist()
    axes = random.permutation(rank).tolist()
    cut = sorted(random.integers(0, rank + 1, 2).tolist())
    batching = sorted(axes[: cut[0]]) if random.random() < 0.4 else []
    left = [axis for axis in axes if axis not in batching]
    collapsed = sorted(left[: cut[1] - cut[0]])
    components = random.permutation(left)[: random.integers(0, len(left) + 1)].tolist()
    kept = [axis for axis in range(rank) if axis not in collapsed and axis not in batching]
    whole = random.random() < 0.5
    sizes = [
        (shape[axis] if whole else int(random.integers(1, shape[axis] + 1))) if axis in kept else 1
        for axis in range(rank)
    ]
    # The batch has the operand's batching axes and some of its own, in any order.
    extra = random.integers(1, 5, random.integers(0, 3)).tolist()
    batch = random.permutation(len(extra) + len(batching)).tolist()
    extents = [*[shape[axis] for axis in batching], *extra]
    vector = int(random.integers(0, len(batch) + 1))
    indices = [extents[place] for place in batch]
    along = [batch.index(place) for place in range(len(batching))]
    rest, window = [*indices], [sizes[axis] for axis in kept]
    indices.insert(vector, len(components))
    total = len(rest) + len(window)
    offsets = sorted(random.permutation(total)[: len(window)].tolist())
    outer = [window.pop(0) if axis in offsets else rest.pop(0) for axis in range(total)]
    return Sample(
        shape,
        collapsed,
        batching,
        [place + (place >= vector) for place in along],
        components,
        vector,
        sizes,
        indices,
        offsets,
        outer,
    )
