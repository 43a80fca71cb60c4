"""The window product at home: blocks of patches, which no memory holds all at once, by BLAS."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from topos.engine.catalog.window_product import WindowProduct
from topos.engine.catalog.windows import Patches
from topos.engine.choices import Choices
from topos.op import Array
from topos.payload import Shape, TensorType, kernels

# The bytes of patches that are held at once.
_BYTES: Final = 1 << 19


class Block(NamedTuple):
    """Patches `[images, patch elements, patches]` of some images and rows of windows."""

    images: slice
    rows: slice
    patches: Array

    def of(self, maps: Array) -> Array:
        """Returns the block of maps `[images, features, counts]`, a patch's place one axis."""
        part = maps[self.images, :, self.rows]
        return part.reshape(*part.shape[:2], -1)


class Extent(NamedTuple):
    """How many images, and rows of windows in each, make a block; all rows if several images."""

    images: int
    rows: int


def checked(kernel: Callable[..., Array], choices: Choices) -> Callable[..., Array]:
    """Returns `kernel`, made to raise under exact numerics where its result holds a NaN.

    A product that is not numpy's own raises no flag of the hardware.
    """
    return kernels.clean.guarded(kernel) if choices.exact else kernel


def extent_of(patches: Patches, shape: Shape, itemsize: int) -> Extent:
    """Returns the extent of the blocks of a source of `shape`."""
    rows = patches.counts[0]
    elements = shape[patches.channel] * math.prod((*patches.sizes, *patches.counts[1:]))
    room = max(1, _BYTES // max(1, elements * itemsize))
    return Extent(max(1, min(shape[patches.batch], room // rows)), min(rows, room))


def each_block(patches: Patches, source: Array, extent: Extent) -> Iterator[Block]:
    """Yields blocks of patches; the array of one is the next one's too."""
    images = source.transpose(patches.batch, patches.channel, *patches.spatial)
    inner = (images.shape[1], *patches.sizes)
    rest, before = patches.counts[1:], (slice(None),) * (1 + len(inner))
    room = np.empty(math.prod((*extent, *inner, *rest)), source.dtype)
    for start in range(0, len(images), extent.images):
        part = _padded(images[start : start + extent.images], patches)
        windows = _windows(part, patches)
        for first in range(0, patches.counts[0], extent.rows):
            rows = slice(first, min(first + extent.rows, patches.counts[0]))
            shape = (len(part), *inner, rows.stop - first, *rest)
            block = room[: math.prod(shape)].reshape(shape)
            np.copyto(block, windows[(*before, rows)])
            flat = block.reshape(len(part), math.prod(inner), -1)
            yield Block(slice(start, start + len(part)), rows, flat)


def _padded(images: Array, patches: Patches) -> Array:
    """Returns [images, channels, spatial] with the zeros around them."""
    low = [patches.low[axis] for axis in patches.spatial]
    high = [patches.high[axis] for axis in patches.spatial]
    if not any(low) and not any(high):
        return images
    extents = images.shape[2:]
    around = (sum(each) for each in zip(low, extents, high, strict=True))
    padded = np.zeros((*images.shape[:2], *around), images.dtype)
    inside = (slice(at, at + extent) for at, extent in zip(low, extents, strict=True))
    padded[:, :, *inside] = images
    return padded


def _windows(images: Array, patches: Patches) -> Array:
    """Returns the windows of [images, channels, spatial] as [..., sizes, counts], a view."""
    outer, spatial = images.strides[:2], images.strides[2:]
    moved = (stride * step for stride, step in zip(spatial, patches.steps, strict=True))
    shape = (*images.shape[:2], *patches.sizes, *patches.counts)
    return as_strided(images, shape, (*outer, *spatial, *moved), writeable=False)


def home(
    form: WindowProduct, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array]:
    """Returns the kernel: each element sums its products with the patch element ascending."""
    source = types[0]
    extent = extent_of(form.patches, source.shape, source.element.dtype.itemsize)
    return checked(_WindowProduct(form, extent, choices.product(source.element)), choices)


def matrix(weights: Array, features: int, output_first: bool) -> Array:
    """Returns weights as [features, patch elements], contiguous."""
    if output_first:
        return np.ascontiguousarray(weights.reshape(features, -1))
    return np.ascontiguousarray(weights.reshape(-1, features).T)


@dataclass(frozen=True, slots=True)
class _WindowProduct:
    """The kernel for one form; a block of the extent is read at a time."""

    form: WindowProduct
    extent: Extent
    product: Callable[..., Array]

    def __call__(
        self, source: Array, weights: Array, *bias: Array, out: Array | None = None
    ) -> Array:
        form, patches = self.form, self.form.patches
        rows = matrix(weights, form.features, form.output_first)
        plain = (source.shape[patches.batch], form.features, *patches.counts)
        is_plain = not form.is_flat and form.order == tuple(range(len(plain)))
        target = out if out is not None and is_plain else np.empty(plain, source.dtype)
        for block in each_block(patches, source, self.extent):
            # A view: rows of windows lie together.
            part = block.of(target)
            self._multiply(rows, block.patches, part)
            if bias:
                np.add(part, bias[0][:, None], out=part)
        return target if target is out else self._laid(target, out)

    def _multiply(self, rows: Array, block: Array, part: Array) -> None:
        if self.product is np.matmul:
            np.matmul(rows, block, out=part)
        else:
            part[...] = self.product(np.broadcast_to(rows, (len(block), *rows.shape)), block)

    def _laid(self, maps: Array, out: Array | None) -> Array:
        """Returns the maps with their axes as the form has them."""
        laid = maps.transpose(self.form.order)
        if self.form.is_flat:
            features_last = self.form.order[-1] == 1
            features = self.form.features
            laid = laid.reshape((-1, features) if features_last else (features, -1))
        if out is None:
            return laid
        out[...] = laid
        return out
