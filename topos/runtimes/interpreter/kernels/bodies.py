"""Bodies: how a region over scalars is applied to arrays, and those of argmax and argmin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, cast

import numpy as np

from topos.runtimes.interpreter.context import BuildContext
from topos.runtimes.interpreter.program import Array, Program
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import bits, comparison, elementwise
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import dtype_of, is_complex

__all__ = [
    "ORDERLESS",
    "Arrays",
    "Combiner",
    "Extreme",
    "Pointwise",
    "combiner",
    "extreme_of",
    "pointwise",
]

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


# A body of these alone, without constants, knows of its arguments only how they compare.
_ORDERED: Final = (
    bits.And,
    bits.Not,
    bits.Or,
    bits.Xor,
    comparison.Compare,
    comparison.Select,
    elementwise.Maximum,
    elementwise.Minimum,
)
# Four numbers of four compare in every way in which any four numbers can.
_CASES: Final = np.meshgrid(*[np.arange(4)] * 4, indexing="ij")


class Extreme(NamedTuple):
    """The greatest value or the least, with the first of its places."""

    greatest: bool

    def places(self, array: Array, axis: int) -> Array:
        """Returns where the extreme of each lane of `array` along `axis` is first met."""
        return np.asarray(array.argmax(axis) if self.greatest else array.argmin(axis))

    def beats(self, values: Array, start: Array) -> bool:
        """Returns whether each of `values` is beyond `start`, which then has no part in them."""
        beyond = np.greater if self.greatest else np.less
        return bool(np.all(beyond(values, start)))


def extreme_of(context: BuildContext[Any], axes: tuple[int, ...]) -> Extreme | None:
    """Returns the extreme that a reduction of values and their places finds, if it is one.

    So it is where the body takes the greater value, or the lesser, of equal values takes the lesser
    place, and the places ascend along the one axis. Out of the exact posture the left place will do
    too. What the body does with NaN is not asked.
    """
    (body,) = context.regions
    if not _compares_alone(context, body) or len(axes) != 1:
        return None
    if context.constants[1] is None or not _ascends(context.constants[1], axes[0]):
        return None
    return next(
        (kind for kind in (Extreme(True), Extreme(False)) if _is(context, body, kind)), None
    )


def _compares_alone(context: BuildContext[Any], body: Program) -> bool:
    return (
        len(context.results) == 2
        and not context.captures
        and body.elementwise
        and not is_complex(context.results[0])
        and dtype_of(context.results[0]).kind in "fiu"
        and dtype_of(context.results[1]).kind in "iu"
        and all(isinstance(op, _ORDERED) for op in body.operations)
        and all(constant is None for constant in body.rest)
    )


def _ascends(places: Array, axis: int) -> bool:
    # Along the axes that an iota is broadcast along one lane speaks for all.
    lane = places[tuple([slice(1) if stride == 0 else slice(None) for stride in places.strides])]
    return places.size > 0 and bool(np.all(np.diff(lane, axis=axis) > 0))


def _is(context: BuildContext[Any], body: Program, kind: Extreme) -> bool:
    """Returns whether `body` chooses as `kind` does, in each of all ways to compare."""
    value, place = (dtype_of(result) for result in context.results)
    left, first, right, second = _CASES
    results = body.run(
        left.astype(value), first.astype(place), right.astype(value), second.astype(place)
    )
    wins = left > right if kind.greatest else left < right
    equal = left == right
    places = np.where(equal, np.minimum(first, second), np.where(wins, first, second))
    loose = np.where(equal, first, places)
    return np.array_equal(results[0], np.where(wins, left, right)) and (
        np.array_equal(results[1], places)
        or (not context.exact and np.array_equal(results[1], loose))
    )
