"""What is known of values in a walk: types, numbers with their origin, and names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.stablehlo.dialect.elementwise import Add
from topos.stablehlo.fresh_names import FreshNames, names_in
from topos.stablehlo.ir import Operation, Region, Tensor, Type, result_names

Array = npt.NDArray[Any]
# What is known of some arguments: the bytes of their elements, `None` where these are not known.
Numbers = tuple[bytes | None, ...]


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


class Names:
    """What is known of the values that a walk has met, by their names in the text.

    Where both are seen no name stands for two values, so the last one that had a name is meant.
    While `inlined`, what is defined stands outside the region that the text has it in, and so it
    gets a name that nothing else in the function has.
    """

    def __init__(self, body: Region) -> None:
        self._values: dict[str, Value] = {}
        self._renamed: dict[str, str] = {}
        self.fresh = FreshNames(names_in(body))
        self.inlined = False

    def operands(self, operation: Operation) -> tuple[Value, ...]:
        """Returns what is known of the operands."""
        return tuple([self._values[name] for name in operation.operands])

    def retyped(self, operation: Operation, values: tuple[Value, ...]) -> Operation:
        """Returns an operation with the names and the types that its operands have now."""
        operands = operation.operands
        if self._renamed:
            operands = tuple([self._renamed.get(name, name) for name in operands])
        types = tuple([value.type for value in values])
        return operation._replace(operands=operands, operand_types=types)

    def define(self, name: str, value: Value, called: str = "") -> None:
        """Gives `name` to a value, which the copy has by the same name unless it is `called`."""
        for each in result_names(name):
            self._values[each] = value
            self._renamed.pop(each, None)
            if called not in ("", name):
                self._renamed[each] = called

    def defined(
        self, operation: Operation, values: tuple[Value, ...], is_new: bool = False
    ) -> Operation:
        """Returns an operation with the names and types of its results, defined from here on.

        One that `is_new` in the text of the function has fresh names.
        """
        called = operation.results
        if self.inlined or is_new:
            called = self.fresh.results(called)
        for name, value, other in zip(operation.results, values, called, strict=True):
            self.define(name, value, other)
        types = tuple([value.type for value in values])
        return operation._replace(results=called, result_types=types)

    def rename(self, name: str, target: str, stated: bool) -> None:
        """Has `name` stand for the value of `target` from here on; its type may be as `stated`."""
        value = self._values[target]._replace(changed=not stated)
        self.define(name, value, self._renamed.get(target, target))


class Variant(NamedTuple):
    """A copy of a function, and its results for some numbers.

    The numbers of the arguments in `consulted` shaped the copy, and those in `sources` are in the
    results. It `is_pure` where a call is not needed once its results are known or unused.
    """

    name: str
    consulted: frozenset[int]
    sources: frozenset[int]
    results: tuple[Value, ...]
    is_pure: bool


class Variants:
    """The variants of a function for arguments of some types, by those numbers that matter."""

    def __init__(self) -> None:
        self._found: dict[frozenset[int], dict[Numbers, Variant]] = {}
        self._consulted: set[int] = set()

    def of(self, values: tuple[Value, ...]) -> Variant | None:
        """Returns the variant of a call with `values`, if there is one."""
        for indices, found in self._found.items():
            variant = found.get(numbers_at(indices, values))
            if variant is not None:
                return variant
        return None

    def add(self, values: tuple[Value, ...], variant: Variant) -> None:
        """Notes the variant of a call with `values`."""
        indices = variant.consulted | variant.sources
        self._found.setdefault(indices, {})[numbers_at(indices, values)] = variant
        self._consulted |= variant.consulted

    def without_numbers(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Returns `values` without the numbers that have shaped no copy, once there is one."""
        if not self._found:
            return values
        shaped = self._consulted
        return tuple(
            [each if at in shaped else each._replace(array=None) for at, each in enumerate(values)]
        )


def numbers_at(indices: Iterable[int], values: tuple[Value, ...]) -> Numbers:
    """Returns what is known of the arguments at `indices`, to be compared and hashed."""
    arrays = [values[index].array for index in sorted(indices)]
    return tuple([None if array is None else array.tobytes() for array in arrays])
