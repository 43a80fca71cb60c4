"""The gradients of the window product at home, a block of images at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from topos.engine.catalog.kernels.window_product import (
    Extent,
    checked,
    each_block,
    extent_of,
    matrix,
)
from topos.engine.catalog.pattern import INEXACT
from topos.engine.catalog.window_product_gradient import (
    BiasGradient,
    InputGradient,
    WeightsGradient,
)
from topos.engine.choices import Choices
from topos.op import Array
from topos.payload import Shape, TensorType

# The bytes of cotangents of patches that are held at once.
_BYTES: Final = 1 << 19


def home_weights(
    form: WeightsGradient, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array] | str:
    """Returns the kernel that adds up the products of each block; its order is not the oracle's."""
    if choices.exact:
        return INEXACT
    source = types[0]
    return _Weights(form, extent_of(form.patches, source.shape, source.element.dtype.itemsize))


def home_bias(
    form: BiasGradient, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array] | str:
    """Returns the kernel that adds up the maps where they lie."""
    return INEXACT if choices.exact else _Bias(form)


def home_input(
    form: InputGradient, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array] | str:
    """Returns the kernel that folds the products of each block, for windows at every place.

    Others lie in gaps, which the products would have to be padded for.
    """
    if any(fold.step != 1 for fold in form.folds):
        return "a kernel needs windows at every place"
    return checked(_Input(form, choices.product(types[0].element)), choices)


@dataclass(frozen=True, slots=True)
class _Weights:
    """The kernel for one form; a block of the extent is read at a time."""

    form: WeightsGradient
    extent: Extent

    def __call__(self, source: Array, cotangents: Array, *, out: Array | None = None) -> Array:
        patches, rows_first = self.form.patches, not self.form.output_first
        shape = (source.shape[patches.batch], *patches.counts)
        maps = _maps(cotangents, self.form.axes, shape, rows_first=rows_first)
        depth = source.shape[patches.channel] * math.prod(patches.sizes)
        total = np.zeros((depth, maps.shape[1]), source.dtype)
        for block in each_block(patches, source, self.extent):
            total += np.matmul(block.patches, block.of(maps).swapaxes(1, 2)).sum(0)
        result = total if rows_first else total.T
        if out is None:
            return result
        out[...] = result
        return out


@dataclass(frozen=True, slots=True)
class _Input:
    """The kernel for one form.

    Each cotangent map is padded with zeros to the extents of the folded value, so that moving a
    lane by a row and a column is moving a whole block of images by one distance. Where a weight is
    not finite, its products with that padding are NaNs, and are cleared before they are folded.
    """

    form: InputGradient
    product: Callable[..., Array]

    def __call__(self, cotangents: Array, weights: Array, *, out: Array | None = None) -> Array:
        form, places = self.form, self.form.places
        columns = np.ascontiguousarray(matrix(weights, places.features, form.output_first).T)
        is_finite = bool(np.isfinite(columns).all())
        shape = (places.images, *places.counts)
        maps = _maps(cotangents, form.axes, shape, rows_first=form.rows_first)
        result = np.empty(form.kept, cotangents.dtype) if out is None else out
        images = result.transpose(places.batch, places.channel, *places.spatial)
        whole = math.prod(places.extents)
        size = max(1, min(places.images, _BYTES // (len(columns) * whole * maps.itemsize)))
        padded = np.zeros((places.features, size, *places.extents), maps.dtype)
        inside = padded[:, :, *(slice(count) for count in places.counts)]
        box = tuple(
            slice(form.low[axis], form.low[axis] + form.kept[axis]) for axis in places.spatial
        )
        for start in range(0, places.images, size):
            part = maps[start : start + size]
            inside[:, : len(part)] = part.swapaxes(0, 1)
            lanes = self.product(columns, padded.reshape(places.features, size * whole))
            if not is_finite:
                self._clear(lanes.reshape(-1, size, *places.extents))
            folded = self._folded(lanes).reshape(-1, size, *places.extents)
            images[start : start + size] = folded[:, : len(part), *box].swapaxes(0, 1)
        return result

    def _clear(self, lanes: Array) -> None:
        """Makes the products with the padding of `[lanes, images, extents]` zeros."""
        for spatial, count in enumerate(self.form.places.counts):
            lanes[(slice(None),) * (2 + spatial) + (slice(count, None),)] = 0

    def _folded(self, lanes: Array) -> Array:
        """Returns the lanes of each channel added where they lie, in place in the first lane.

        As recorded, one axis after another with the lane ascending: no product is a -0, to which
        the +0 that the recorded sums start from would make a difference.
        """
        places = self.form.places
        lanes = lanes.reshape(-1, *places.sizes, lanes.shape[-1])
        length = lanes.shape[-1]
        for fold in self.form.folds:
            spatial = places.spatial.index(fold.axis)
            distance = math.prod(places.extents[spatial + 1 :])
            # A folded axis stays, with the one lane that holds the sums.
            ahead = (slice(None),) * (1 + spatial)
            total = lanes[(*ahead, slice(0, 1))]
            for position in range(1, places.sizes[spatial]):
                moved = position * distance
                target = total[..., moved:]
                lane = lanes[(*ahead, slice(position, position + 1))]
                np.add(target, lane[..., : length - moved], out=target)
            lanes = total
        return lanes.reshape(len(lanes), length)


@dataclass(frozen=True, slots=True)
class _Bias:
    """The kernel for one form."""

    form: BiasGradient

    def __call__(self, maps: Array, *, out: Array | None = None) -> Array:
        # The spatial axes first: they lie together, and an image's sums are few.
        rows = np.moveaxis(maps, self.form.feature, 1)
        sums = np.add.reduce(rows, axis=tuple(range(2, rows.ndim)))
        return np.asarray(np.add.reduce(sums, axis=0, out=out))


def _maps(
    cotangents: Array, axes: tuple[int, ...] | None, places: Shape, *, rows_first: bool
) -> Array:
    """Returns the cotangents of a product as [images, features, counts]; `places` less features."""
    if axes is not None:
        laid = cotangents.transpose(axes)
    else:
        laid = cotangents.reshape((*places, -1) if rows_first else (-1, *places))
    return np.moveaxis(laid, -1, 1) if rows_first else laid.swapaxes(0, 1)
