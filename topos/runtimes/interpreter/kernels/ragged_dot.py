"""The ragged product: a product whose left operand falls into groups along one axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.contraction import Pairing, contraction, pairing_of
from topos.runtimes.interpreter.program import Array, Axes, Kernel
from topos.stablehlo.dialect import ragged_dot as dialect
from topos.stablehlo.types import dtype_of, extents

# What a group has of an operand, along each axis.
Part = list[slice | int]


def _ragged_dot(context: BuildContext[dialect.RaggedDot]) -> Kernel:
    """Builds one of three modes, by what the ragged axis is to the left operand.

    Along a free axis each group of rows has its own right operand; along a contracted axis each
    group has its own result; along a batching axis the groups change nothing.
    """
    numbers = context.op.ragged_dot_dimension_numbers
    batch, contracted = pairing = pairing_of(numbers)
    (ragged,) = numbers.lhs_ragged_dimensions
    if ragged in batch[0]:
        shapes = (extents(context.operands[0]), extents(context.operands[1]))
        kernel = contraction(context, shapes, pairing)
        return lambda left, right, sizes: kernel(left, right)
    groups = numbers.rhs_group_dimensions
    return _Grouped(context, batch, contracted, ragged, groups[0] if groups else None)


@dataclass(frozen=True, slots=True)
class _Grouped:
    """Products of the parts of the operands that belong to one group each.

    `group` is the right operand's axis of groups where the ragged axis is a free one, and `None`
    where it is contracted. Group sizes are one list, or a list for each place along the left
    operand's axes before the ragged one: those of the batch, and those of the ragged axis's kind.
    """

    context: BuildContext[Any]
    batch: tuple[Axes, Axes]
    contracted: tuple[Axes, Axes]
    ragged: int
    group: int | None
    kernels: dict[tuple[Axes, Axes], Kernel] = field(default_factory=dict)

    def __call__(self, left: Array, right: Array, sizes: Array) -> Array:
        (type,) = self.context.results
        result = np.zeros(extents(type), dtype_of(type))
        for place in np.ndindex(sizes.shape[:-1]):
            first: Part = [slice(None)] * left.ndim
            for axis, within in zip(self._before(left.ndim), place, strict=False):
                first[axis] = slice(within, within + 1)
            for index, part in enumerate(_ranges(sizes[place])):
                first[self.ragged] = part
                self._write(result, left, right, first, index)
        return result

    def _before(self, rank: int) -> Axes:
        """Returns the left operand's axes that group sizes may have besides the last one."""
        free = [axis for axis in range(rank) if axis not in (*self.batch[0], *self.contracted[0])]
        kind = self.contracted[0] if self.group is None else tuple(free)
        return (*self.batch[0], *kind[: kind.index(self.ragged)])

    def _write(self, result: Array, left: Array, right: Array, first: Part, index: int) -> None:
        second: Part = [slice(None)] * right.ndim
        for one, other in self._paired():
            second[other] = first[one]
        if self.group is not None:
            second[self.group] = index
        target = self._target(first, index)
        # Several lists may share a contracted range, whose products add up.
        result[target] += self._product(left[tuple(first)], right[tuple(second)])

    def _paired(self) -> Iterator[tuple[int, int]]:
        for left, right in (self.batch, self.contracted):
            yield from zip(left, right, strict=True)

    def _target(self, first: Part, index: int) -> tuple[slice | int, ...]:
        """Returns where the product of a part stands: batch, then the left's free axes."""
        used = (*self.batch[0], *self.contracted[0])
        free = [axis for axis in range(len(first)) if axis not in used]
        leading = tuple(first[axis] for axis in (*self.batch[0], *free))
        return leading if self.group is not None else (index, *leading)

    def _product(self, left: Array, right: Array) -> Array:
        key = (left.shape, right.shape)
        if key not in self.kernels:
            self.kernels[key] = contraction(self.context, key, self._pairing())
        result: Array = self.kernels[key](left, right)
        return result

    def _pairing(self) -> Pairing:
        if self.group is None:
            return Pairing(self.batch, self.contracted)
        # The axis of groups is gone from the part of the right operand.
        group = self.group
        batch, contracted = (
            tuple(axis - (axis > group) for axis in axes)
            for axes in (self.batch[1], self.contracted[1])
        )
        return Pairing((self.batch[0], batch), (self.contracted[0], contracted))


def _ranges(sizes: Array) -> Iterator[slice]:
    """Yields where each group starts and ends, which may be past the end of the axis."""
    start = 0
    for size in sizes.tolist():
        limit = start + max(int(size), 0)
        yield slice(start, limit)
        start = limit


BUILDERS: Final[Builders] = {dialect.RaggedDot: _ragged_dot}
