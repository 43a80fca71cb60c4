"""An operation whose indices must stay inside, with what its attributes and its text say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from topos.errors import UnsupportedError
from topos.runtimes._iree_intervals import Interval, Intervals, held
from topos.runtimes._mlir import Binding

__all__ = ["IndexSite"]

FIELD: Final = re.compile(r"(\w+) = (?:\[([^\]]*)\]|(\d+))")


class IndexSite(NamedTuple):
    """An operation in its module."""

    ir: Binding
    operation: Binding
    intervals: Intervals

    def fields(self, attribute: str) -> Mapping[str, tuple[int, ...]]:
        """Returns the dimension numbers of an attribute that has no class in the bindings."""
        text = str(self.operation.attributes[attribute])
        return {
            name: tuple(map(int, re.findall(r"\d+", many or one)))
            for name, many, one in FIELD.findall(text)
        }

    def stays(self, indices: Binding, highest: int) -> bool:
        """Returns whether the text itself keeps `indices` between 0 and `highest`."""
        found = self.intervals.of(indices)
        return found is not None and found.within(Interval(0, highest))

    def largest(self, indices: Binding) -> int:
        """Returns what the element of `indices` can hold at most."""
        holds = held(indices.type)
        if holds is None:
            raise UnsupportedError(f"iree takes indices of whole bytes, got {indices.type}")
        return holds.high
