"""Stable forms: the logarithm of a sum of exponentials, and the log of softmax."""

from __future__ import annotations

import numpy as np

from topos.payload.kernels import maps, reduction
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.conversion import promoted, rounded


@np.errstate(all="ignore")
def log_sum_exp(array: Array, axis: int) -> Array:
    """Returns `m + ln(sum(exp(array - m)))` along `axis`, which the result lacks.

    m is the maximum, or 0 where that is infinite (rule 9 of the oracle); the sum is the tree of
    halves. The 16-bit floats compute in float32 throughout and round once.
    """
    elements = promoted(array)
    peak = _finite_peak(elements, axis)
    shifted = canonical(elements - np.expand_dims(peak, axis))
    return rounded(peak + _log_total(shifted, axis), array.dtype)


@np.errstate(all="ignore")
def log_softmax(array: Array, axis: int) -> Array:
    """Returns `(array - m) - ln(sum(exp(array - m)))` along `axis`, with m as in `log_sum_exp`."""
    elements = promoted(array)
    shifted = canonical(elements - np.expand_dims(_finite_peak(elements, axis), axis))
    total = np.expand_dims(_log_total(shifted, axis), axis)
    return rounded(shifted - total, array.dtype)


def _finite_peak(elements: Array, axis: int) -> Array:
    peak = reduction.maximum(elements, (axis,))
    return np.where(np.isinf(peak), peak.dtype.type(0), peak)


def _log_total(shifted: Array, axis: int) -> Array:
    return maps.ln(reduction.sum(maps.exp(shifted), (axis,)))
