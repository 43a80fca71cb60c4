"""The gradients of the window product at home, a block of images at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.engine.catalog.kernels.patches import block_of, each_block, product_of
from topos.engine.catalog.kernels.window_product import matrix
from topos.engine.catalog.window_product_gradient import InputGradient, WeightsGradient
from topos.engine.numerics import Numerics
from topos.payload import Shape, TensorType

__all__ = ["home_input", "home_weights"]

Array = npt.NDArray[Any]

# The bytes of cotangents of patches that are held at once.
_BYTES: Final = 1 << 19


def home_weights(
    form: WeightsGradient, types: Sequence[TensorType], numerics: Numerics
) -> Callable[..., Array] | None:
    """Returns the kernel that adds up the products of each block; its order is not the oracle's."""
    if numerics is Numerics.EXACT:
        return None
    source = types[0]
    return _Weights(form, block_of(form.patches, source.shape, source.element.dtype.itemsize))


def home_input(
    form: InputGradient, types: Sequence[TensorType], numerics: Numerics
) -> Callable[..., Array] | None:
    """Returns the kernel that folds the products of each block, one axis after another."""
    return _Input(form, product_of(types[0], numerics))


@dataclass(frozen=True, slots=True)
class _Weights:
    """The kernel for one form; `size` images are read at a time."""

    form: WeightsGradient
    size: int

    def __call__(self, source: Array, cotangents: Array, *, out: Array | None = None) -> Array:
        patches = self.form.patches
        batch, places = source.shape[patches.batch], math.prod(patches.counts)
        if self.form.output_first:
            maps = cotangents.reshape(-1, batch, places).transpose(1, 2, 0)
        else:
            maps = cotangents.reshape(batch, places, -1)
        depth = source.shape[patches.channel] * math.prod(patches.sizes)
        total = np.zeros((depth, maps.shape[-1]), source.dtype)
        for start, block in each_block(patches, source, self.size):
            total += np.matmul(block, maps[start : start + len(block)]).sum(0)
        result = total.T if self.form.output_first else total
        if out is None:
            return result
        out[...] = result
        return out


@dataclass(frozen=True, slots=True)
class _Input:
    """The kernel for one form."""

    form: InputGradient
    product: Callable[..., Array]

    def __call__(self, cotangents: Array, weights: Array, *, out: Array | None = None) -> Array:
        form = self.form
        places, channels, sizes, counts, batch = self._extents()
        features = cotangents.shape[1 if form.rows_first else 0]
        columns = np.ascontiguousarray(matrix(weights, features, form.output_first).T)
        count = math.prod(counts)
        if form.rows_first:
            maps = cotangents.reshape(batch, count, features).transpose(0, 2, 1)
        else:
            maps = cotangents.reshape(features, batch, count).transpose(1, 0, 2)
        result = np.empty(form.extents, cotangents.dtype) if out is None else out
        images = result.transpose(places)
        bytes_each = len(columns) * count * cotangents.itemsize
        size = max(1, min(batch, _BYTES // max(1, bytes_each)))
        box = self._box(places)
        for start in range(0, batch, size):
            part = maps[start : start + size]
            lanes = self._multiply(columns, part)
            folded = self._folded(lanes.reshape(len(part), channels, *sizes, *counts))
            images[start : start + size] = folded[box]
        return result

    def _multiply(self, columns: Array, part: Array) -> Array:
        if self.product is np.matmul:
            return np.matmul(columns, part)
        return self.product(np.broadcast_to(columns, (len(part), *columns.shape)), part)

    def _extents(self) -> tuple[tuple[int, ...], int, Shape, Shape, int]:
        """Returns where batch, channel and spatial axes are, and the extents of everything."""
        form = self.form
        windowed = [form.laid[axis] for axis in form.order]
        spatial = sorted(fold.axis for fold in form.folds)
        rank = len(windowed) - len(spatial)
        inverse = sorted(range(len(windowed)), key=form.order.__getitem__)
        # Laid out, batch leads the rows, and channel the columns.
        first, second = inverse[0], inverse[1 + len(spatial)]
        batch, channel = (first, second) if form.rows_first else (second, first)
        lanes = {
            fold.axis: len(windowed) - 1 - place for place, fold in enumerate(form.folds)
        }
        sizes = tuple(windowed[lanes[axis]] for axis in spatial)
        counts = tuple(windowed[axis] for axis in spatial)
        assert rank == 2 + len(spatial)
        return (batch, channel, *spatial), windowed[channel], sizes, counts, windowed[batch]

    def _folded(self, lanes: Array) -> Array:
        """Returns [images, channels, sizes, counts] folded to [images, channels, spatial].

        As recorded: one axis after another, each onto +0 with the lane ascending.
        """
        spatial = sorted(fold.axis for fold in self.form.folds)
        left = len(spatial)
        axes = list(spatial)
        for fold in self.form.folds:
            place = axes.index(fold.axis)
            windows, places = 2 + place, 2 + left + spatial.index(fold.axis)
            lanes = _fold(lanes, windows, places, fold.step, fold.extent)
            # The axis of lanes is gone.
            left -= 1
            del axes[place]
        return lanes

    def _box(self, places: tuple[int, ...]) -> tuple[slice, ...]:
        low, extents = self.form.low, self.form.extents
        return tuple(
            slice(None) if at < 2 else slice(low[axis], low[axis] + extents[axis])
            for at, axis in enumerate(places)
        )


def _fold(array: Array, lane_axis: int, axis: int, step: int, extent: int) -> Array:
    """Returns `array` with the lanes of `lane_axis` added where they lay along `axis`."""
    lanes = np.moveaxis(array, lane_axis, 0)
    place = axis - 1
    count = array.shape[axis]
    shape = list(lanes.shape[1:])
    shape[place] = extent
    result = np.zeros(shape, array.dtype)
    before = (slice(None),) * place
    span = step * (count - 1) + 1
    for position, lane in enumerate(lanes):
        target = result[(*before, slice(position, position + span, step))]
        np.add(target, lane, out=target)
    return result
