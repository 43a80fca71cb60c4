"""Products of matrices, and what is one of them: dot, dot_general and einsum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from topos.backend import Formula, GemmTask, serve
from topos.payload import TensorType, element_of
from topos.payload.kernels.canonical import is_float
from topos.payload.kernels.product import matmul
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.runtimes.interpreter.program import Array, Axes, Kernel
from topos.stablehlo.dialect import contraction as dialect
from topos.stablehlo.dimension_numbers import DotNumbers, RaggedDotNumbers
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS", "Axes", "Pairing", "Product", "contraction", "pairing_of", "product_of"]

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
        if self.compute.kind == "c" and self.result.kind != "c":
            # As a conversion takes it.
            array = array.real
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


Names = tuple[str, ...]


class Pairing(NamedTuple):
    """The axes of the left and of the right operand that go together, in their order."""

    batch: tuple[Axes, Axes]
    contracted: tuple[Axes, Axes]


def contraction(context: BuildContext[Any], shapes: tuple[Axes, Axes], pairing: Pairing) -> Kernel:
    """Returns the kernel of a left and a right operand: [batch, left's other axes, right's].

    The contracted axes flatten to one in the order of `pairing`, the last one fastest.
    """
    batch, contracted = pairing
    free = tuple(
        tuple(axis for axis in range(len(shape)) if axis not in (*batch[side], *contracted[side]))
        for side, shape in enumerate(shapes)
    )
    batches, rows = ([shapes[0][axis] for axis in part[0]] for part in (batch, free))
    columns = [shapes[1][axis] for axis in free[1]]
    depth = math.prod(shapes[0][axis] for axis in contracted[0])
    dtypes = [*map(dtype_of, (context.operands[0], context.operands[-1], context.results[0]))]
    return _Contraction(
        product=product_of(context.exact, dtypes, depth),
        left=(*batch[0], *free[0], *contracted[0]),
        right=(*batch[1], *contracted[1], *free[1]),
        rows=(math.prod(batches), math.prod(rows), depth),
        columns=(math.prod(batches), depth, math.prod(columns)),
        shape=(*batches, *rows, *columns),
    )


@dataclass(frozen=True, slots=True)
class _Contraction:
    """The product with its operands brought to [batch, rows, depth] and [batch, depth, columns]."""

    product: Product
    left: Axes
    right: Axes
    rows: Axes
    columns: Axes
    shape: Axes

    def __call__(self, left: Array, right: Array) -> Array:
        first = left.transpose(self.left).reshape(self.rows)
        second = right.transpose(self.right).reshape(self.columns)
        return self.product(first, second).reshape(self.shape)


def _dot_general(context: BuildContext[dialect.DotGeneral]) -> Kernel:
    numbers = context.op.dot_dimension_numbers
    left, right = context.operands
    return contraction(context, (extents(left), extents(right)), pairing_of(numbers))


def pairing_of(numbers: DotNumbers | RaggedDotNumbers) -> Pairing:
    """Returns the axes that `numbers` pair."""
    return Pairing(
        (numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions),
        (numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions),
    )


def _dot(context: BuildContext[Any]) -> Kernel:
    """Builds the older form: the last axis of the left by the first of the right."""
    left, right = map(extents, context.operands)
    return contraction(context, (left, right), Pairing(((), ()), ((len(left) - 1,), (0,))))


def _einsum(context: BuildContext[Any]) -> Kernel:
    config = context.op.config()
    names = tuple(
        _expanded(context, side, len(extents(operand)))
        for side, operand in zip(config.operands, context.operands, strict=True)
    )
    return _built(context, names, config.result)


def _unary_einsum(context: BuildContext[Any]) -> Kernel:
    (side,), result = context.op.config()
    shape = extents(context.results[0])
    names = _expanded(context, side, len(extents(context.operands[0])))
    # Multiplied by a scalar one, which is exact, it is an einsum of two.
    kernel = _built(context, (names, ()), result)
    kept = _expanded(context, result, len(shape))
    if set(kept) == set(names):
        return partial(_named, names=names, wanted=kept, shape=shape)
    one = np.ones((), dtype_of(context.operands[0]))
    return lambda array: kernel(array, one)


def _expanded(context: BuildContext[Any], term: str, rank: int) -> Names:
    """Returns the names of a term's axes; those of an ellipsis count from the last one."""
    before, dots, after = term.partition("...")
    hidden = rank - len(before) - len(after) if dots else 0
    names = (*before, *map(str, reversed(range(hidden))), *after)
    context.demand(len(names) == rank, f"needs {term!r} to name {rank} axes")
    return names


def _built(context: BuildContext[Any], names: tuple[Names, ...], text: str) -> Kernel:
    operands = [*map(extents, context.operands), ()][:2]
    # The rules leave what an ellipsis stands for, and names that a result repeats, to be checked.
    lengths: dict[str, int] = {}
    for side, shape in zip(names, operands, strict=True):
        for name, extent in zip(side, shape, strict=True):
            # An axis may be one where the other operand's is longer, as an ellipsis allows.
            longer = extent if lengths.get(name, 1) == 1 else lengths[name]
            context.demand(
                extent in (1, longer), f"needs one extent of {name}, got {side} of {shape}"
            )
            lengths[name] = longer
    result = _expanded(context, text, len(extents(context.results[0])))
    known = len(set(result)) == len(result) and set(result) <= set(lengths)
    context.demand(known, f"needs a result of distinct names that its terms have, got {text!r}")
    context.yields(context.results[0]._replace(shape=tuple(lengths[name] for name in result)))
    left, right = (tuple(dict.fromkeys(side)) for side in names)
    summed = tuple(name for name in lengths if name not in result)
    # What only one side has is summed over a broadcast of the other.
    wanted = tuple(
        (*side, *(name for name in summed if name not in side)) for side in (left, right)
    )
    shared = tuple(name for name in result if name in left and name in right)
    pairing = Pairing(*(_both(wanted, part) for part in (shared, summed)))
    shapes = tuple(tuple(lengths[name] for name in side) for side in wanted)
    free = (name for side in (left, right) for name in side if name in result)
    order = (*shared, *(name for name in free if name not in shared))
    return _Einsum(
        names=names,
        wanted=wanted,
        shapes=shapes,
        kernel=contraction(context, (shapes[0], shapes[1]), pairing),
        permutation=tuple(order.index(name) for name in result),
    )


def _both(sides: tuple[Names, ...], names: Names) -> tuple[Axes, Axes]:
    left, right = (tuple(side.index(name) for name in names) for side in sides)
    return left, right


@dataclass(frozen=True, slots=True)
class _Einsum:
    """A contraction of operands whose repeated names became diagonals."""

    names: tuple[Names, ...]
    wanted: tuple[Names, ...]
    shapes: tuple[Axes, ...]
    kernel: Kernel
    permutation: Axes

    def __call__(self, *operands: Array) -> Array:
        parts = zip(operands, self.names, self.wanted, self.shapes, strict=True)
        sides = [_named(array, names, wanted, shape) for array, names, wanted, shape in parts]
        result: Array = self.kernel(*sides)
        return result.transpose(self.permutation)


def _named(array: Array, names: Names, wanted: Names, shape: Axes) -> Array:
    """Returns `array` with the axes `wanted`, of which names holds some, perhaps repeatedly."""
    # Of a name that comes twice this is a diagonal; nothing is summed.
    kept = [names.index(name) for name in wanted if name in names]
    array = np.einsum(array, [names.index(name) for name in names], kept)
    return np.broadcast_to(array.reshape((*array.shape, *(1,) * (len(wanted) - len(kept)))), shape)


BUILDERS: Final[Builders] = {
    dialect.Dot: _dot,
    dialect.DotGeneral: _dot_general,
    dialect.Einsum: _einsum,
    dialect.UnaryEinsum: _unary_einsum,
}
