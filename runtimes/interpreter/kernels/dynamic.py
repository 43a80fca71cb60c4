"""Dynamic forms: shapes, sizes and paddings given by operands, where the result's type is static.

The type says what the operands must come to. Where they do not, the run ends in an
`ExecutionError`: no result of that type would be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.errors import ExecutionError
from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.kernels import constant, gather, layout
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def _demand(name: str, what: str, wanted: Sequence[int], got: Sequence[int]) -> None:
    if list(wanted) != list(got):
        raise ExecutionError(f"{name} needs {what} {list(wanted)}, got {list(got)}")


@dataclass(frozen=True, slots=True)
class _Stated:
    """A kernel of the first operands, whose last operand must be what the types imply."""

    name: str
    what: str
    wanted: Shape
    kernel: Kernel

    def __call__(self, *values: Array) -> Array:
        *operands, stated = values
        _demand(self.name, self.what, self.wanted, stated.ravel().tolist())
        result: Array = self.kernel(*operands)
        return result


def _shaped(context: BuildContext, kernel: Kernel) -> Kernel:
    return _Stated(context.name, "the shape", extents(context.results[0]), kernel)


def _broadcast_in_dim(context: BuildContext) -> Kernel:
    axes = context.integers("broadcast_dimensions")
    source, target = extents(context.operands[0]), extents(context.results[0])
    return _shaped(context, layout.broadcast(source, axes, target))


def _reshape(context: BuildContext) -> Kernel:
    return _shaped(context, partial(_reshaped, extents(context.results[0])))


def _reshaped(shape: Shape, array: Array) -> Array:
    return array.reshape(shape)


def _iota(context: BuildContext) -> Kernel:
    known = constant.BUILDERS["stablehlo.iota"](context.having(operands=(), constants=()))
    assert isinstance(known, Constant), "an iota is known before the run"
    return _shaped(context, partial(_known, known.array))


def _known(array: Array) -> Array:
    return array


def _gather(context: BuildContext) -> Kernel:
    """Builds the gather of the window that the result's type implies."""
    numbers, result = context.fields("dimension_numbers"), context.results[0]
    absent = {
        axis
        for key in ("collapsed_slice_dims", "operand_batching_dims")
        for axis in context.integers_of(numbers.get(key, ()), key)
    }
    offsets = context.integers_of(numbers.get("offset_dims", ()), "offset_dims")
    along = iter([extents(result)[axis] for axis in offsets])
    rank = len(context.operands[0].shape)
    sizes = tuple(1 if axis in absent else next(along) for axis in range(rank))
    operation = context.operation._replace(
        attributes={**context.operation.attributes, "slice_sizes": sizes}
    )
    static = context.having(
        operation=operation, operands=context.operands[:2], constants=context.constants[:2]
    )
    kernel = gather.BUILDERS["stablehlo.gather"](static)
    assert not isinstance(kernel, Constant), "a gather reads its operands"
    return _Stated(context.name, "the sizes", sizes, kernel)


def _pad(context: BuildContext) -> Kernel:
    return partial(_padded, context.name, extents(context.results[0]))


def _padded(
    name: str, shape: Shape, array: Array, filler: Array, low: Array, high: Array, interior: Array
) -> Array:
    before, after, between = low.tolist(), high.tolist(), interior.tolist()
    if min(between, default=0) < 0:
        raise ExecutionError(f"{name} needs interior padding of zero or more, got {between}")
    _demand(name, "padding to", shape, layout.padded_shape(array.shape, before, after, between))
    return layout.padded(before, between, shape, array, filler)


def _slice(context: BuildContext) -> Kernel:
    return partial(_sliced, context.name, extents(context.results[0]))


def _sliced(
    name: str, shape: Shape, array: Array, starts: Array, limits: Array, strides: Array
) -> Array:
    ranges = list(zip(starts.tolist(), limits.tolist(), strides.tolist(), strict=True))
    for (start, limit, stride), extent in zip(ranges, array.shape, strict=True):
        if not (0 <= start <= limit <= extent and stride > 0):
            got = f"{start}:{limit}:{stride}"
            raise ExecutionError(f"{name} needs ranges inside {list(array.shape)}, got {got}")
    kept = [-(-(limit - start) // stride) for start, limit, stride in ranges]
    _demand(name, "ranges of", shape, kept)
    return np.asarray(array[tuple(slice(*each) for each in ranges)])


def _get_dimension_size(context: BuildContext) -> Constant:
    extent = extents(context.operands[0])[context.integer("dimension")]
    return Constant(np.array(extent, np.int32))


def _set_dimension_size(context: BuildContext) -> Kernel:
    extent = extents(context.results[0])[context.integer("dimension")]
    return _Stated(context.name, "the size", (extent,), _known)


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.dynamic_broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.dynamic_gather": _gather,
    "stablehlo.dynamic_iota": _iota,
    "stablehlo.dynamic_pad": _pad,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.get_dimension_size": _get_dimension_size,
    "stablehlo.real_dynamic_slice": _slice,
    "stablehlo.set_dimension_size": _set_dimension_size,
}
