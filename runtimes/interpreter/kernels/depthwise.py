"""Depthwise convolution: every output feature reads one input feature, a place after another."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array, canonical
from topos.runtimes.interpreter.kernels.products import Product
from topos.runtimes.interpreter.kernels.sliding import Sliding, blocks
from topos.runtimes.interpreter.program import Axes

__all__ = ["depthwise"]


# Sums and products of so many elements lie in the second-level cache together.
_BLOCK: Final = 1 << 16


def depthwise(
    product: Product,
    images: Array,
    weights: Array,
    sliding: Sliding,
    reversal: tuple[bool, ...],
    counts: Axes,
) -> Array:
    """Returns [batch, counts, feature] of images [batch, space, feature] by [size, feature].

    Operands have the product's format and its order: a sum adds the rounded product of each place
    in row-major order, with no patches and no product of matrices for each feature. A window runs
    backward along the axes of `reversal`.
    """
    features = images.shape[-1]
    wide = _with_features(sliding)
    placed = wide.placed(images, 0)
    result = np.empty((len(images), *counts, features), product.result)
    for block in blocks(result.shape[:-1], max(1, _BLOCK // features)):
        total = np.zeros(result[block].shape, product.compute)
        term = np.empty_like(total)
        for place in sliding.offsets():
            parts = zip(place, sliding.size, reversal, strict=True)
            offset = tuple(size - 1 - at if back else at for at, size, back in parts)
            operand = placed[wide.at((*offset, 0), (*counts, features))]
            np.multiply(operand[block], weights[place], out=term)
            np.add(total, term, out=total)
        result[block] = product.leave(canonical(total))
    return result


def _with_features(sliding: Sliding) -> Sliding:
    """Returns `sliding` for arrays whose features follow the axes of space."""
    return replace(
        sliding,
        size=(*sliding.size, 1),
        stride=(*sliding.stride, 1),
        padding=(*sliding.padding, (0, 0)),
        base=(*sliding.base, 1),
        dilation=(*sliding.dilation, 1),
    )
