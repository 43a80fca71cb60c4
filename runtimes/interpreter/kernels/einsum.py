"""Einstein sums: letters name the axes, and those that the result lacks are summed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.contraction import Axes, Pairing, contraction
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
# One name an axis: a letter, or a number for an axis that an ellipsis stands for.
Names = tuple[str, ...]


def _einsum(context: BuildContext) -> Kernel:
    sides, result = _configuration(context)
    names = tuple(
        _expanded(context, side, len(extents(operand)))
        for side, operand in zip(sides, context.operands, strict=True)
    )
    return _built(context, names, result)


def _unary_einsum(context: BuildContext) -> Kernel:
    (side,), result = _configuration(context)
    shape = extents(context.results[0])
    names = _expanded(context, side, len(extents(context.operands[0])))
    # Multiplied by a scalar one, which is exact, it is an einsum of two.
    kernel = _built(context, (names, ()), result)
    kept = _expanded(context, result, len(shape))
    if set(kept) == set(names):
        return partial(_named, names=names, wanted=kept, shape=shape)
    one = np.ones((), dtype_of(context.operands[0]))
    return lambda array: kernel(array, one)


def _configuration(context: BuildContext) -> tuple[list[str], str]:
    inputs, _, result = context.word("einsum_config").replace(" ", "").partition("->")
    return inputs.split(","), result


def _expanded(context: BuildContext, term: str, rank: int) -> Names:
    """Returns the names of a term's axes; those of an ellipsis count from the last one."""
    before, dots, after = term.partition("...")
    hidden = rank - len(before) - len(after) if dots else 0
    names = (*before, *map(str, reversed(range(hidden))), *after)
    context.demand(len(names) == rank, f"needs {term!r} to name {rank} axes")
    return names


def _built(context: BuildContext, names: tuple[Names, ...], text: str) -> Kernel:
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
    for name in wanted:
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            array = np.diagonal(array, axis1=first, axis2=second)
            rest = (other for axis, other in enumerate(names) if axis not in (first, second))
            names = (*rest, name)
    array = array.transpose([names.index(name) for name in wanted if name in names])
    array = array.reshape((*array.shape, *(1,) * (len(wanted) - len(names))))
    return np.broadcast_to(array, shape)


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.einsum": _einsum,
    "stablehlo.unary_einsum": _unary_einsum,
}
