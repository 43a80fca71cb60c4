"""Contraction: dot, dot_general and einsum as one batched product."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.products import Product, product_of
from topos.runtimes.interpreter.program import Array, Axes, Kernel
from topos.stablehlo.dialect import contraction as dialect
from topos.stablehlo.dimension_numbers import DotNumbers, RaggedDotNumbers
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS", "Axes", "Pairing", "contraction", "pairing_of"]

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
