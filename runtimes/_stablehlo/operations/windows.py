"""Windows of an operand that an array of indices points to, as gather and scatter share them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.site import Site
from topos.runtimes._stablehlo.syntax import Tensor
from topos.runtimes._stablehlo.types import extents, is_float

__all__ = ["Keys", "Windows", "sizes_of", "windows_of"]

Array = npt.NDArray[Any]
Axes = tuple[int, ...]
Keys = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Windows:
    """Which element of the operand each element of each window is.

    Elements are laid out as [batch, window]: the axes of the indices less that of the index
    vector, then `offsets`, the operand's axes along which a window extends. `components` is the
    operand's axis of each part of the index vector; `batching` pairs an operand's axis with the
    axis of the batch that runs along it; `sizes` is a window's extent along each operand's axis.
    """

    vector: int
    components: Axes
    batching: tuple[tuple[int, int], ...]
    offsets: Axes
    sizes: Axes
    batch: Axes

    @property
    def shape(self) -> Axes:
        """The shape of [batch, window]."""
        return (*self.batch, *(self.sizes[axis] for axis in self.offsets))

    def starts(self, indices: Array) -> Array:
        """Returns the index vectors as [batch, component] of int64."""
        if indices.dtype == np.uint64:
            # An index beyond the signed range would turn negative, and so small.
            indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
        whole = indices.astype(np.int64)
        return np.moveaxis(whole, self.vector, -1) if self.vector < whole.ndim else whole[..., None]

    def places(self, starts: Array) -> list[Array]:
        """Returns for each axis of the operand the place along it, each of `shape`."""
        rank, window = len(self.sizes), len(self.offsets)
        places: list[Array] = [np.zeros((), np.int64) for _ in range(rank)]
        for position, axis in enumerate(self.components):
            column = starts[..., position]
            places[axis] = places[axis] + column.reshape((*column.shape, *(1,) * window))
        for axis, along in self.batching:
            places[axis] = places[axis] + self._steps(self.batch[along], along)
        for position, axis in enumerate(self.offsets):
            steps = self._steps(self.sizes[axis], len(self.batch) + position)
            places[axis] = places[axis] + steps
        return [np.broadcast_to(place, self.shape) for place in places]

    def _steps(self, extent: int, axis: int) -> Array:
        steps = np.arange(extent, dtype=np.int64)
        return steps.reshape((extent, *(1,) * (len(self.shape) - axis - 1)))


class _Numbers(NamedTuple):
    """The axes that an attribute names: absent from a window, batching, and of the components."""

    dropped: Axes
    batching: Axes
    along: Axes
    components: Axes
    vector: int


def windows_of(
    site: Site, fields: Mapping[str, Any], keys: Keys, operand: Tensor, indices: Tensor, sizes: Axes
) -> Windows:
    """Returns the windows that `fields` describe, `sizes` being their extents along every axis.

    `keys` name the fields of the axes that a window lacks, the operand's batching axes, the
    indices' batching axes and the components.
    """
    numbers = _numbers(site, fields, keys, operand, indices)
    inside = len(sizes) == len(operand.shape) and all(
        0 <= size <= extent for size, extent in zip(sizes, extents(operand), strict=True)
    )
    site.demand(inside, f"needs windows within {operand}, got {list(sizes)}")
    site.demand(
        all(sizes[axis] == 1 for axis in numbers.dropped)
        and all(sizes[axis] <= 1 for axis in numbers.batching),
        f"needs windows of 1 along {keys[0]} and {keys[1]}",
    )
    absent = (*numbers.dropped, *numbers.batching)
    vector, pairs = numbers.vector, zip(numbers.batching, numbers.along, strict=True)
    return Windows(
        vector=vector,
        components=numbers.components,
        batching=tuple((axis, place - (place > vector)) for axis, place in pairs),
        offsets=tuple(axis for axis in range(len(sizes)) if axis not in absent),
        sizes=sizes,
        batch=tuple(extent for axis, extent in enumerate(extents(indices)) if axis != vector),
    )


def sizes_of(site: Site, fields: Mapping[str, Any], keys: Keys, rank: int, window: Axes) -> Axes:
    """Returns a window's extents along every axis, from those along the axes that it has."""
    dropped, batching = (site.integers_of(fields.get(key, ()), key) for key in keys[:2])
    kept = [axis for axis in range(rank) if axis not in (*dropped, *batching)]
    site.demand(len(kept) == len(window), f"needs windows of {len(kept)} axes, got {len(window)}")
    along = dict(zip(kept, window, strict=True))
    return tuple(along.get(axis, 1) for axis in range(rank))


def _numbers(
    site: Site, fields: Mapping[str, Any], keys: Keys, operand: Tensor, indices: Tensor
) -> _Numbers:
    rank, shape = len(operand.shape), extents(indices)
    whole = not is_float(indices) and indices.element != "i1"
    site.demand(whole, f"needs integer indices, got {indices}")
    dropped, batching, along, components = (
        site.integers_of(fields.get(key, ()), key) for key in keys
    )
    (vector,) = site.integers_of((fields.get("index_vector_dim", 0),), "index_vector_dim")
    site.demand(0 <= vector <= len(shape), f"needs an index_vector_dim up to {len(shape)}")
    site.axes(f"{keys[0]} and {keys[1]}", (*dropped, *batching), rank)
    site.ascending(keys[0], dropped, rank)
    site.ascending(keys[1], batching, rank)
    site.axes(f"{keys[3]} and {keys[1]}", (*components, *batching), rank)
    site.axes(keys[2], along, len(shape))
    site.demand(
        len(along) == len(batching) and vector not in along,
        f"needs as many {keys[2]} as {keys[1]}",
    )
    site.demand(
        [operand.shape[axis] for axis in batching] == [shape[axis] for axis in along],
        f"needs equal extents along {keys[1]} and {keys[2]}",
    )
    length = shape[vector] if vector < len(shape) else 1
    site.demand(
        length == len(components), f"needs index vectors of {len(components)}, got {length}"
    )
    return _Numbers(dropped, batching, along, components, vector)
