"""Windows of an operand that an array of indices points to, as gather and scatter share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.program import Axes
from topos.stablehlo.dimension_numbers import GatherNumbers, ScatterNumbers
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import extents

__all__ = ["Windows", "sizes_of", "windows_of"]


@dataclass(frozen=True, slots=True)
class Windows:
    """Which elements of the operand each window holds.

    Elements are laid out as [batch, window]: the axes of the indices less that of the index
    vector, then `offsets`, the operand's axes along which a window extends. `absent` are its other
    axes. `components` is the operand's axis of each part of the index vector; `batching` pairs an
    operand's axis with the axis of the batch that runs along it; `sizes` is a window's extent along
    each operand's axis.
    """

    vector: int
    components: Axes
    batching: tuple[tuple[int, int], ...]
    offsets: Axes
    absent: Axes
    sizes: Axes
    batch: Axes

    @property
    def window(self) -> Axes:
        """The shape of a window."""
        return tuple([self.sizes[axis] for axis in self.offsets])

    @property
    def shape(self) -> Axes:
        """The shape of [batch, window]."""
        return (*self.batch, *self.window)

    @property
    def moving(self) -> Axes:
        """The operand's axes along which windows extend and start anywhere, ascending."""
        return tuple([axis for axis in self.offsets if axis in self.components])

    def cut(self, rank: int) -> tuple[Any, ...]:
        """Returns the part of an operand that windows reach which do not move along an axis."""
        still = set(self.offsets) - set(self.components)
        kept = [slice(self.sizes[axis]) if axis in still else slice(None) for axis in range(rank)]
        # The ellipsis keeps what is cut from a scalar an array, which can be written to.
        return (..., *kept)

    def starts(self, indices: Array) -> dict[int, Array]:
        """Returns where windows start along each axis that has a component or is batching.

        Each is of the batch's shape, or broadcasts to it.
        """
        if indices.dtype == np.uint64:
            # An index beyond the signed range would turn negative, and so small.
            indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
        if self.vector < indices.ndim:
            columns = np.moveaxis(indices, self.vector, 0)
        else:
            columns = indices[None]
        starts: dict[int, Array] = {}
        for axis, column in zip(self.components, columns, strict=True):
            starts[axis] = column.astype(np.intp)
        for axis, along in self.batching:
            steps = np.arange(self.batch[along])
            starts[axis] = steps.reshape(-1, *(1,) * (len(self.batch) - along - 1))
        return starts


def windows_of(numbers: GatherNumbers | ScatterNumbers, indices: Tensor, sizes: Axes) -> Windows:
    """Returns the windows that `numbers` describe, `sizes` being their extents along every axis."""
    match numbers:
        case GatherNumbers():
            batching, along = numbers.operand_batching_dims, numbers.start_indices_batching_dims
            components = numbers.start_index_map
        case ScatterNumbers():
            batching, along = numbers.input_batching_dims, numbers.scatter_indices_batching_dims
            components = numbers.scatter_dims_to_operand_dims
    vector, absent = numbers.index_vector_dim, tuple(sorted(numbers.dropped))
    return Windows(
        vector=vector,
        components=components,
        batching=tuple(
            (axis, place - (place > vector)) for axis, place in zip(batching, along, strict=True)
        ),
        offsets=tuple(axis for axis in range(len(sizes)) if axis not in absent),
        absent=absent,
        sizes=sizes,
        batch=tuple(extent for axis, extent in enumerate(extents(indices)) if axis != vector),
    )


def sizes_of(numbers: GatherNumbers | ScatterNumbers, rank: int, window: Axes) -> Axes:
    """Returns a window's extents along every axis, from those along the axes that it has."""
    along = iter(window)
    return tuple(1 if axis in numbers.dropped else next(along) for axis in range(rank))
