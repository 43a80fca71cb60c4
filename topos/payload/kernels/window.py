"""Windows along an axis: the view of them, and its adjoint."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.conversion import promoted, rounded


def unfold(array: Array, axis: int, size: int, step: int) -> Array:
    """Returns the windows of `size` elements along `axis`, one each `step`, as a read-only view.

    `axis` then counts the `(extent - size) // step + 1` windows, and a trailing axis of `size`
    runs through each of them.
    """
    windows = (array.shape[axis] - size) // step + 1
    stride = array.strides[axis]
    return as_strided(
        array,
        (*array.shape[:axis], windows, *array.shape[axis + 1 :], size),
        (*array.strides[:axis], step * stride, *array.strides[axis + 1 :], stride),
        writeable=False,
    )


@np.errstate(all="ignore")
def fold(array: Array, axis: int, step: int, extent: int) -> Array:
    """Returns the windows of `array` added up along an axis of `extent`: the adjoint of `unfold`.

    `axis` counts the windows and the trailing axis runs through each. Element `j + step * i`
    starts at +0 and adds element j of window i for j ascending; the 16-bit floats accumulate in
    float32 and round once (rule 8 of the oracle).
    """
    windows, size = array.shape[axis], array.shape[-1]
    kept = array.shape[:-1]
    elements = promoted(array)
    result = np.zeros((*kept[:axis], extent, *kept[axis + 1 :]), elements.dtype)
    before = (slice(None),) * axis
    span = step * (windows - 1) + 1 if windows else 0
    for j in range(size):
        target = result[(*before, slice(j, j + span, step))]
        np.add(target, elements[..., j], target)
    return rounded(result, array.dtype)
