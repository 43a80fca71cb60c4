"""Dynamic forms: shapes, sizes and paddings given by operands, where the result's type is static.

The type says what the operands must come to. Where they do not, the run ends in an
`ExecutionError`: no result of that type would be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any, Final

import numpy as np

from topos.errors import ExecutionError
from topos.runtimes.interpreter.context import BuildContext, Builders, Constant
from topos.runtimes.interpreter.kernels import constants, layout
from topos.runtimes.interpreter.program import Array, Kernel, Shape
from topos.stablehlo.dialect import constants as dialect_constants
from topos.stablehlo.dialect import dynamic
from topos.stablehlo.types import extents

__all__ = ["BUILDERS", "demand", "stated"]


def demand(name: str, what: str, wanted: Sequence[int], got: Sequence[int]) -> None:
    """Raises `ExecutionError` where the run has other numbers than the types say."""
    if list(wanted) != list(got):
        raise ExecutionError(f"{name} needs {what} {list(wanted)}, got {list(got)}")


def stated(name: str, what: str, wanted: Shape, kernel: Kernel, *values: Array) -> Array:
    """Returns what `kernel` makes of all operands but the last, which must be `wanted`."""
    *operands, got = values
    demand(name, what, wanted, got.ravel().tolist())
    result: Array = kernel(*operands)
    return result


def _shaped(context: BuildContext[Any], kernel: Kernel) -> Kernel:
    return partial(stated, context.name, "the shape", extents(context.results[0]), kernel)


def _broadcast_in_dim(context: BuildContext[dynamic.DynamicBroadcastInDim]) -> Kernel:
    axes = context.op.broadcast_dimensions
    source, target = extents(context.operands[0]), extents(context.results[0])
    return _shaped(context, layout.broadcast(source, axes, target))


def _reshape(context: BuildContext[Any]) -> Kernel:
    return _shaped(context, methodcaller("reshape", extents(context.results[0])))


def _iota(context: BuildContext[Any]) -> Kernel:
    known = constants.BUILDERS[dialect_constants.Iota](context)
    assert isinstance(known, Constant), "an iota is known before the run"
    return _shaped(context, lambda: known.array)


def _pad(context: BuildContext[Any]) -> Kernel:
    return partial(_padded, context.name, extents(context.results[0]))


def _padded(
    name: str, shape: Shape, array: Array, filler: Array, low: Array, high: Array, interior: Array
) -> Array:
    before, after, between = low.tolist(), high.tolist(), interior.tolist()
    if min(between, default=0) < 0:
        raise ExecutionError(f"{name} needs interior padding of zero or more, got {between}")
    demand(name, "padding to", shape, layout.padded_shape(array.shape, before, after, between))
    return layout.padded(before, between, shape, array, filler)


def _get_dimension_size(context: BuildContext[dynamic.GetDimensionSize]) -> Constant:
    extent = extents(context.operands[0])[context.op.dimension]
    return Constant(np.array(extent, np.int32))


def _set_dimension_size(context: BuildContext[dynamic.SetDimensionSize]) -> Kernel:
    axis = context.op.dimension
    extent = extents(context.results[0])[axis]
    seen = itemgetter((*[slice(None)] * axis, slice(extent)))
    return partial(stated, context.name, "the size", (extent,), seen)


BUILDERS: Final[Builders] = {
    dynamic.DynamicBroadcastInDim: _broadcast_in_dim,
    dynamic.DynamicIota: _iota,
    dynamic.DynamicPad: _pad,
    dynamic.DynamicReshape: _reshape,
    dynamic.GetDimensionSize: _get_dimension_size,
    dynamic.SetDimensionSize: _set_dimension_size,
}
