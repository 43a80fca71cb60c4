"""Variants of a function: what a walk over it found for some types and numbers of its arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from topos.stablehlo.specialize.values import Value

__all__ = ["Variant", "Variants", "numbers_at"]

# What is known of some arguments: the bytes of their elements, `None` where these are not known.
Numbers = tuple[bytes | None, ...]

# How many sets of numbers are followed through a function whose copy is the same for all of them.
MOST_FOLLOWED: Final = 1024


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
        self._names: set[str] = set()

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
        self._names.add(variant.name)

    def are_many(self) -> bool:
        """Returns whether no more numbers are followed, for each level of calls may double them.

        They are still followed where they shape the copies.
        """
        return len(self._names) == 1 and sum(map(len, self._found.values())) >= MOST_FOLLOWED


def numbers_at(indices: Iterable[int], values: tuple[Value, ...]) -> Numbers:
    """Returns what is known of the arguments at `indices`, to be compared and hashed."""
    arrays = [values[index].array for index in sorted(indices)]
    return tuple([None if array is None else array.tobytes() for array in arrays])
