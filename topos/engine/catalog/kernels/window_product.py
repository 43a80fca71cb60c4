"""The window product at home: blocks of patches, which no memory holds all at once, by BLAS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from topos.engine.catalog.kernels.patches import (
    Extent,
    checked,
    each_block,
    extent_of,
)
from topos.engine.catalog.window_product import WindowProduct
from topos.engine.choices import Choices
from topos.op import Array
from topos.payload import TensorType


def home(
    form: WindowProduct, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array] | None:
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
