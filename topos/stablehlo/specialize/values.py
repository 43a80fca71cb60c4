"""What is known of values in a walk: their types, their numbers, and where those come from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.stablehlo.dialect.elementwise import Add
from topos.stablehlo.ir import Operation, Tensor, Type

__all__ = [
    "Value",
    "beyond",
    "branch_of",
    "carried",
    "of_known_sizes",
    "of_numbers",
    "union",
]

Array = npt.NDArray[Any]


class Value(NamedTuple):
    """What is known of a value: its static type, and its numbers where they are computed here.

    `changed` tells whether the text states another type. `sources` are the arguments of the
    function that the numbers come from. What is computed in the run may be known to lie `beyond`
    another value, of that name, by so much.
    """

    type: Type
    changed: bool = False
    array: Array | None = None
    sources: frozenset[int] = frozenset()
    beyond: tuple[str, Array] | None = None


def union(values: Iterable[Value]) -> frozenset[int]:
    """Returns the sources of all `values`."""
    return frozenset().union(*[value.sources for value in values])


def of_numbers(value: Value, known: Value) -> Value:
    """Returns `value` with the numbers of `known`."""
    return value._replace(array=known.array, sources=known.sources)


def beyond(operation: Operation, arrays: tuple[Array | None, ...]) -> tuple[str, Array] | None:
    """Returns the value that a sum lies beyond by the known one of its two terms."""
    if operation.name != Add.operation_name:
        return None
    for name, array in zip(operation.operands, reversed(arrays), strict=True):
        if array is not None:
            return name, array
    return None


def of_known_sizes(operation: Operation, values: tuple[Value, ...]) -> Operation:
    """Returns a slice with its type where only its starts are the run's, and not its extents."""
    starts, limits, strides = values[1:]
    (stated,) = operation.result_types
    if starts.array is not None or limits.beyond is None or not isinstance(stated, Tensor):
        return operation
    name, sizes = limits.beyond
    if name != operation.operands[1] or strides.array is None or (strides.array != 1).any():
        return operation
    type = Tensor(tuple(sizes.tolist()), stated.element)
    return operation._replace(result_types=(type,))


def carried(operation: Operation, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Returns what each turn of a loop takes: its numbers are known where no turn changes them."""
    body = operation.regions[1].blocks[0]
    ends = body.operations[-1].operands
    return tuple(
        [
            value if end == argument.name else Value(value.type, value.changed)
            for value, end, argument in zip(values, ends, body.arguments, strict=True)
        ]
    )


def branch_of(choice: Value, count: int) -> int:
    """Returns which of `count` branches a known operand takes: the last for a number of none."""
    assert choice.array is not None
    index = int(choice.array)
    # A truth value takes the first branch.
    if choice.array.dtype == np.bool_:
        index = 1 - index
    return index if 0 <= index < count else count - 1
