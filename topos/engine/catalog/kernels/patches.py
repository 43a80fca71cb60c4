"""Patches of images, a block of images at a time, so that what a product reads is in the cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from topos import backend
from topos.engine.catalog.windows import Patches
from topos.engine.numerics import Numerics
from topos.payload import Shape, TensorType, kernels

__all__ = ["Block", "block_of", "checked", "each_block", "product_of"]

Array = npt.NDArray[Any]

# The bytes of patches that are held at once.
_BYTES: Final = 1 << 19


class Block(NamedTuple):
    """Patches of some images: the first image, and `[images, patch elements, patches]`."""

    start: int
    patches: Array


def product_of(type: TensorType, numerics: Numerics) -> Callable[[Array, Array], Array]:
    """Returns the product of stacks of matrices that the numerics admit."""
    if numerics is Numerics.FAST:
        return np.matmul
    return backend.numba.served(kernels.product.matmul, type.element.dtype)


def checked(kernel: Callable[..., Array], numerics: Numerics) -> Callable[..., Array]:
    """Returns `kernel`, made to raise under `EXACT` where its result holds a NaN.

    A product that is not numpy's own raises no flag of the hardware.
    """
    return kernel if numerics is Numerics.FAST else partial(_checked, kernel)


def _checked(kernel: Callable[..., Array], *operands: Array, out: Array | None = None) -> Array:
    result = kernel(*operands, out=out)
    if kernels.clean.has_nan(result):
        raise FloatingPointError("a NaN arose")
    return result


def block_of(patches: Patches, shape: Shape, itemsize: int) -> int:
    """Returns how many images' patches are held at once."""
    elements = shape[patches.channel] * math.prod((*patches.sizes, *patches.counts))
    return max(1, min(shape[patches.batch], _BYTES // max(1, elements * itemsize)))


def each_block(patches: Patches, source: Array, size: int) -> Iterator[Block]:
    """Yields the patches of `size` images after another; the array is the next one's too."""
    images = source.transpose(patches.batch, patches.channel, *patches.spatial)
    batch, channels, *extents = images.shape
    low = [patches.low[axis] for axis in patches.spatial]
    high = [patches.high[axis] for axis in patches.spatial]
    held = np.empty((size, channels, *patches.sizes, *patches.counts), source.dtype)
    padded = None
    if any(low) or any(high):
        around = (sum(each) for each in zip(low, extents, high, strict=True))
        padded = np.zeros((size, channels, *around), source.dtype)
        box = tuple(slice(at, at + extent) for at, extent in zip(low, extents, strict=True))
        inside = padded[:, :, *box]
    for start in range(0, batch, size):
        part = images[start : start + size]
        count = len(part)
        if padded is not None:
            inside[:count] = part
            part = padded[:count]
        block = held[:count]
        np.copyto(block, _windows(part, patches))
        yield Block(start, block.reshape(count, -1, math.prod(patches.counts)))


def _windows(images: Array, patches: Patches) -> Array:
    """Returns the windows of [images, channels, spatial] as [..., sizes, counts], a view."""
    outer, spatial = images.strides[:2], images.strides[2:]
    moved = (stride * step for stride, step in zip(spatial, patches.steps, strict=True))
    shape = (*images.shape[:2], *patches.sizes, *patches.counts)
    return as_strided(images, shape, (*outer, *spatial, *moved), writeable=False)
