"""Reduction along axes by any body: the fixed tree of halves, the initial value once at the end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from topos.payload.kernels import reduction
from topos.payload.shape import without
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.bodies import (
    Arrays,
    Combiner,
    Extreme,
    Fold,
    Pointwise,
    combiner,
    extreme_of,
    fold_of,
    pointwise,
)
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.runtimes.interpreter.program import Array, Axes, Kernel, Kernels
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import elementwise
from topos.stablehlo.dialect import reduction as dialect_reduction
from topos.stablehlo.types import dtype_of, extents

_EXTREMES: Final[Kernels] = {
    elementwise.Maximum: reduction.maximum,
    elementwise.Minimum: reduction.minimum,
}
# The oracle's own formats; the others have no reduction of their own.
_ORACLE: Final = frozenset({"bf16", "f16", "f32", "f64"})


def _reduce(context: BuildContext[dialect_reduction.Reduce]) -> Kernel:
    (body,) = context.regions
    dtypes = tuple(dtype_of(result) for result in context.results)
    axes = tuple(sorted(context.op.dimensions))
    general = _Halving(combiner(body), dtypes, axes)
    if any(
        result.element != operand.element
        for result, operand in zip(context.results, context.operands, strict=False)
    ):
        return general
    extreme = extreme_of(context, axes)
    if extreme is not None:
        shape = extents(context.results[0])
        return partial(_placed, extreme, general, np.indices(shape, sparse=True))
    return _direct(context, body.only, general) or general


def _direct(
    context: BuildContext[Any], only: type[Definition] | None, general: _Halving
) -> Kernel | None:
    """Returns a kernel with the bits of `general` for a body of one well-known operation.

    Out of the exact posture any order of rounding will do, and numpy's is the fastest.
    """
    element = context.operands[0].element
    if context.exact and only is not None and only in _EXTREMES and element in _ORACLE:
        return partial(_extreme, _EXTREMES[only], general)
    fold = fold_of(only, dtype_of(context.operands[0]), context.exact)
    if fold is not None and not fold.ordered:
        return partial(_by_fold, fold, general)
    # The oracle keeps its float32 sum of 16-bit floats for one rounding, which a body that rounds
    # at every step has not.
    summed = fold is not None and only is elementwise.Add and element in ("f32", "f64")
    return partial(_sum, general) if summed else None


@dataclass(frozen=True, slots=True)
class _Halving:
    """Any body, over operands that are reduced together."""

    combine: Combiner
    dtypes: tuple[np.dtype[Any], ...]
    axes: Axes

    def __call__(self, *values: Array) -> Any:
        count = len(self.dtypes)
        captures = values[2 * count :]
        arrays, starts = (
            [converted(value, dtype) for value, dtype in zip(part, self.dtypes, strict=True)]
            for part in (values[:count], values[count : 2 * count])
        )
        results = reduction.reduce_by_halves(
            arrays, starts, self.axes, lambda left, right: self.combine(left, right, captures)
        )
        return results if count > 1 else results[0]

    def started(self, start: Array, total: Array) -> Array:
        """Returns `total`, of one operand, with the initial value on its left."""
        starts = np.broadcast_to(start, total.shape)
        return np.asarray(self.combine((starts,), (total,), ())[0])


def _by_fold(fold: Fold, general: _Halving, array: Array, start: Array) -> Array:
    """Reduces one operand by numpy's own reduction."""
    axes = general.axes
    if not all(array.shape[axis] for axis in axes):
        return np.broadcast_to(start, without(array.shape, axes))
    wide = fold.enter(array)
    # Without a dtype numpy would sum narrow integers in wide ones.
    total = np.asarray(fold.combine.reduce(wide, axis=axes, dtype=wide.dtype))
    return general.started(start, fold.leave(total))


def _extreme(whole: Kernel, general: _Halving, array: Array, start: Array) -> Array:
    """Reduces one operand by the oracle's maximum or minimum."""
    return general.started(start, whole(array, general.axes))


def _sum(general: _Halving, array: Array, start: Array) -> Array:
    """Reduces one operand by the oracle's sum, which starts at +0."""
    zero = start == 0
    if zero and np.signbit(start):
        # From +0 a sum never comes to -0, from -0 it may.
        result: Array = general(array, start)
        return result
    total = reduction.sum(array, general.axes)
    return total if zero else general.started(start, total)


def _placed(
    extreme: Extreme, general: _Halving, lanes: Arrays, array: Array, places: Array, *starts: Array
) -> Any:
    """Reduces values and their places, which ascend, by numpy's argmax or argmin.

    `lanes` index what is left of the shape, one array an axis.
    """
    (axis,) = general.axes
    index = (*lanes[:axis], extreme.places(array, axis), *lanes[axis:])
    values, at = array[index], places[index]
    if array.dtype.kind == "f" and np.any((values != values) | (values == 0)):
        # Of NaN, and of zeros of either sign, the body keeps which the tree's order says.
        return general(array, places, *starts)
    if extreme.beats(values, starts[0]):
        return values, at
    before = [np.broadcast_to(start, values.shape) for start in starts]
    return general.combine(before, (values, at), ())


def _mapped(apply: Pointwise, count: int, *values: Array) -> Array:
    (result,) = apply(values[:count], values[count:])
    return result


BUILDERS: Final[Builders] = {
    dialect_reduction.Reduce: _reduce,
    dialect_reduction.Map: lambda context: partial(
        _mapped, pointwise(context.regions[0]), len(context.operands)
    ),
}
