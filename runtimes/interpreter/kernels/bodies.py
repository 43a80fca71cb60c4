"""Bodies: how a region over scalars is applied to arrays of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, cast

import numpy as np

from topos.runtimes.interpreter.program import Array, Program
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import bits, elementwise
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import dtype_of

__all__ = ["ORDERLESS", "Arrays", "Combiner", "Pointwise", "combiner", "pointwise"]

Arrays = Sequence[Array]
# Takes arrays of one shape, one an argument, then what the region captures.
Pointwise = Callable[[Arrays, Arrays], tuple[Array, ...]]
# Takes the left and the right operands, then what the region captures.
Combiner = Callable[[Arrays, Arrays, Arrays], tuple[Array, ...]]

# Bodies of one operation that, but for rounding, combine in any order, as numpy has them. Of truth
# values numpy too adds by `or` and multiplies by `and`.
ORDERLESS: Final[Mapping[type[Definition] | None, np.ufunc]] = {
    elementwise.Add: np.add,
    bits.And: np.bitwise_and,
    elementwise.Maximum: np.maximum,
    elementwise.Minimum: np.minimum,
    elementwise.Multiply: np.multiply,
    bits.Or: np.bitwise_or,
    bits.Xor: np.bitwise_xor,
}


def pointwise(body: Program) -> Pointwise:
    """Returns `body` as a function of arrays, applied to every element.

    A body of elementwise operations runs once on whole arrays; any other, element by element.
    """
    return partial(_whole if body.elementwise else _each, body)


def combiner(body: Program) -> Combiner:
    """Returns `pointwise(body)` as a function of the left and of the right operands."""
    return partial(_combined, pointwise(body))


def _combined(apply: Pointwise, left: Arrays, right: Arrays, captures: Arrays) -> tuple[Array, ...]:
    return apply((*left, *right), captures)


def _whole(body: Program, arguments: Arrays, captures: Arrays) -> tuple[Array, ...]:
    shape = arguments[0].shape
    results = body.run(*arguments, *captures)
    # A body may return a constant, which is the same for every element.
    return tuple(
        [value if value.shape == shape else np.broadcast_to(value, shape) for value in results]
    )


def _each(body: Program, arguments: Arrays, captures: Arrays) -> tuple[Array, ...]:
    """Runs a body that makes something other than scalars, such as a table it looks into."""
    shape = arguments[0].shape
    results = tuple([np.empty(shape, dtype_of(cast(Tensor, type))) for type in body.results])
    for place in np.ndindex(shape):
        scalars = [array[(..., *place)] for array in arguments]
        for result, value in zip(results, body.run(*scalars, *captures), strict=True):
            result[place] = value
    return results
