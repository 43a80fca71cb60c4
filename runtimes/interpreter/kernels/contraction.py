"""Contraction: dot, dot_general and einsum as one batched product."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.products import Product, product_of
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS", "Axes", "Pairing", "contraction"]

Array = npt.NDArray[Any]
Axes = tuple[int, ...]


class Pairing(NamedTuple):
    """The axes of the left and of the right operand that go together, in their order."""

    batch: tuple[Axes, Axes]
    contracted: tuple[Axes, Axes]


def contraction(context: BuildContext, shapes: tuple[Axes, Axes], pairing: Pairing) -> Kernel:
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
    left, right = dtype_of(context.operands[0]), dtype_of(context.operands[-1])
    return _Contraction(
        product=product_of(context.exact, left, right, dtype_of(context.results[0]), depth),
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


def _dot_general(context: BuildContext) -> Kernel:
    numbers = context.fields("dot_dimension_numbers")
    batch, contracted = (
        (
            _axes(context, numbers, f"lhs_{kind}_dimensions"),
            _axes(context, numbers, f"rhs_{kind}_dimensions"),
        )
        for kind in ("batching", "contracting")
    )
    left, right = context.operands
    return contraction(context, (extents(left), extents(right)), Pairing(batch, contracted))


def _axes(context: BuildContext, numbers: Mapping[str, Any], key: str) -> Axes:
    return context.integers_of(numbers.get(key, ()), key)


def _dot(context: BuildContext) -> Kernel:
    """Builds the older form: the last axis of the left by the first of the right."""
    left, right = map(extents, context.operands)
    return contraction(context, (left, right), Pairing(((), ()), ((len(left) - 1,), (0,))))


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
}
