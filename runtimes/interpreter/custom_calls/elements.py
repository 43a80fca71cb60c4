"""Products, quotients and sums of elements that are the same on every machine, complex ones too.

numpy's complex product may fuse a multiplication and an addition where the processor can.
"""

from __future__ import annotations

import numpy as np

from topos.payload.kernels import reduction
from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.special import complex_arithmetic
from topos.runtimes.interpreter.special.complex_arithmetic import binary

__all__ = ["product", "quotient", "total"]


def product(left: Array, right: Array) -> Array:
    """Returns `left * right`; of complex numbers (ac - bd) + i(ad + bc), each part in f64."""
    if np.iscomplexobj(left):
        return binary(complex_arithmetic.multiply, left, right)
    return np.asarray(np.multiply(left, right))


def total(terms: Array) -> Array:
    """Returns the sums along the first axis, each the oracle's tree of halves, by parts."""
    if not np.iscomplexobj(terms):
        return reduction.sum(terms, (0,))
    result = np.empty(terms.shape[1:], terms.dtype)
    result.real = reduction.sum(np.ascontiguousarray(terms.real), (0,))
    result.imag = reduction.sum(np.ascontiguousarray(terms.imag), (0,))
    return result


def quotient(left: Array, right: Array) -> Array:
    """Returns `left / right`; of two complex numbers that of `complex_arithmetic.divide`."""
    if np.iscomplexobj(right):
        return binary(complex_arithmetic.divide, left, right)
    if np.iscomplexobj(left):
        result = np.empty(np.broadcast_shapes(left.shape, right.shape), left.dtype)
        result.real, result.imag = left.real / right, left.imag / right
        return result
    return np.asarray(np.divide(left, right))
