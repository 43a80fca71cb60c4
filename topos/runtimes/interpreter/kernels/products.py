"""Products: batched matrix products of any elements, by the oracle's order or by the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from topos.backend import Formula, GemmTask, serve
from topos.payload import TensorType, element_of
from topos.payload.kernels.canonical import Array, is_float
from topos.payload.kernels.product import matmul
from topos.runtimes.interpreter.kernels.conversion import converted

__all__ = ["Product", "product_of"]

Multiply = Callable[[Array, Array], Array]

# From here on a compiled product repays the time that loading it takes.
_COMPILED_WORK: Final = 1 << 23
# A float64 holds every integer up to 2 to this power.
_WHOLE_BITS: Final = 53


class Product(NamedTuple):
    """The product `[batch, m, k]` by `[batch, k, n]` as `[batch, m, n]`.

    Operands enter in the format `compute`; `multiply` takes and returns that format, and what it
    returns leaves as `result`. Truth values are multiplied by `and` and added by `or`; integers
    wrap. Exact: a sum begins at +0 and adds the rounded products for k ascending (rule 6 of the
    oracle); formats shorter than float32 are summed in float32 and rounded once. A complex
    product is that of real numbers with the real and imaginary parts of k in turn.
    """

    compute: np.dtype[Any]
    multiply: Multiply
    result: np.dtype[Any]

    def enter(self, array: Array) -> Array:
        """Returns an operand in the format of the computation."""
        return array.astype(self.compute, copy=False)

    def leave(self, array: Array) -> Array:
        """Returns what `multiply` returned as elements of the result."""
        if self.compute.kind == "f" and _kind(self.result) != "f":
            # Such a result's operands are integers too, and wrap.
            array = array.astype(np.int64)
        if array.dtype.kind in "bic":
            return array.astype(self.result, copy=False)
        return converted(array, self.result)

    def __call__(self, left: Array, right: Array) -> Array:
        """Returns the product of two operands in their own elements."""
        return self.leave(self.multiply(self.enter(left), self.enter(right)))


def product_of(exact: bool, dtypes: Sequence[np.dtype[Any]], depth: int) -> Product:
    """Returns the product of the left, the right and the result's `dtypes`, of `depth` terms."""
    left, right, result = dtypes
    kinds = set(map(_kind, dtypes))
    if "c" in kinds:
        wide = any(dtype.itemsize > (8 if dtype.kind == "c" else 4) for dtype in dtypes)
        multiply = _complex_in_order if exact else np.matmul
        return Product(np.dtype(np.complex128 if wide else np.complex64), multiply, result)
    if "f" in kinds:
        wide = any(_kind(dtype) == "f" and dtype.itemsize > 4 for dtype in dtypes)
        multiply = _in_order if exact else np.matmul
        return Product(np.dtype(np.float64 if wide else np.float32), multiply, result)
    if _bits(left) + _bits(right) + depth.bit_length() <= _WHOLE_BITS:
        # Every sum is a whole number that float64 holds, so the library's product is exact. Of
        # truth values it counts those that `or` would find.
        return Product(np.dtype(np.float64), np.matmul, result)
    # Whatever lies above the result's bits never reaches down into them.
    wide = max(map(_bits, dtypes)) > 32
    return Product(np.dtype(np.int64 if wide else np.int32), np.matmul, result)


def _kind(dtype: np.dtype[Any]) -> str:
    if is_float(dtype):
        return "f"
    return dtype.kind if dtype.kind in "bc" else "i"


def _bits(dtype: np.dtype[Any]) -> int:
    return 1 if dtype.kind == "b" else 8 * dtype.itemsize


def _in_order(left: Array, right: Array) -> Array:
    element = element_of(left.dtype)
    task = GemmTask(TensorType(left.shape, element), TensorType(right.shape, element))
    if task.flops < _COMPILED_WORK:
        return matmul(left, right)
    result: Array = serve(Formula.GEMM, task, exact=True).kernel(left, right)
    return result


def _complex_in_order(left: Array, right: Array) -> Array:
    batch, depth, columns = right.shape
    real = right.real.dtype
    # Each row of the right operand becomes the two by which a real and an imaginary part count.
    parts = np.empty((batch, depth, 2, columns, 2), real)
    parts[:, :, 0, :, 0], parts[:, :, 0, :, 1] = right.real, right.imag
    parts[:, :, 1, :, 0], parts[:, :, 1, :, 1] = -right.imag, right.real
    first = np.ascontiguousarray(left).view(real)
    if not first.size:
        return np.zeros((batch, left.shape[1], columns), left.dtype)
    total = _in_order(first, parts.reshape(batch, 2 * depth, 2 * columns))
    return np.ascontiguousarray(total).view(left.dtype)
