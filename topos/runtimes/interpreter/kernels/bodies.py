"""Bodies: how a region over scalars is applied to arrays, and those of argmax and argmin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, cast

import numpy as np

from topos.payload.kernels.canonical import LAYOUTS, canonical, is_float
from topos.payload.kernels.conversion import promoted
from topos.runtimes.interpreter.context import BuildContext
from topos.runtimes.interpreter.kernels.conversion import converted, extreme_ranks, unranked
from topos.runtimes.interpreter.program import Array, Program
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import bits, comparison, elementwise
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import dtype_of, is_complex

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
_ROUNDED: Final = (elementwise.Add, elementwise.Multiply)


class Fold(NamedTuple):
    """A body of one operation, as numpy has it, and the format in which it is computed.

    Where it is `ordered`, each step rounds, so that the elements must follow one another.
    """

    combine: np.ufunc
    enter: Callable[[Array], Array]
    leave: Callable[[Array], Array]
    ordered: bool = False


def fold_of(only: type[Definition] | None, dtype: np.dtype[Any], exact: bool) -> Fold | None:
    """Returns the operation `only` over elements of `dtype`, where numpy has the bits of its body.

    Sums and products of floats have no order that counts unless they are to be exact. An exact
    maximum or minimum of floats is NaN where any is, and -0 lies below +0.
    """
    combine = ORDERLESS.get(only)
    if combine is None or (dtype.kind == "c" and (exact or only not in _ROUNDED)):
        return None
    if dtype.kind in "ciub":
        return Fold(combine, np.asarray, np.asarray)
    if not is_float(dtype):
        # The short integers all lie in eight bits, and wrap there as they do in their own.
        return Fold(combine, partial(np.asarray, dtype=np.int8), partial(np.asarray, dtype=dtype))
    if not exact:
        plain = dtype.itemsize > 2
        narrow = partial(converted, target=dtype)
        return Fold(combine, np.asarray if plain else promoted, np.asarray if plain else narrow)
    if only not in _ROUNDED:
        return _extreme(combine, dtype)
    return Fold(combine, np.asarray, canonical, ordered=True) if dtype in LAYOUTS else None


def _extreme(combine: np.ufunc, dtype: np.dtype[Any]) -> Fold:
    """Returns an extreme of integers that are ordered as the floats of `dtype` are."""
    format = dtype if dtype in LAYOUTS else np.dtype(np.float32)
    return Fold(
        combine,
        lambda array: extreme_ranks(array.astype(format, copy=False), combine is np.maximum),
        # Either end, where a NaN was put, has the bits of some NaN.
        lambda ranks: converted(canonical(unranked(ranks, format)), dtype),
    )


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
