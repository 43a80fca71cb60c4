"""Variants of a function: what a walk over it found for some types and numbers of its arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from topos.stablehlo.specialize.values import Value

__all__ = ["Variant", "Variants", "numbers_at"]

# What is known of some arguments: the bytes of their elements, `None` where these are not known.
Numbers = tuple[bytes | None, ...]


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
