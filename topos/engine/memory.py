"""Memory: what a plan holds at once, beyond its arguments and constants."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Memory"]


class Memory(NamedTuple):
    """Bytes: `live` while each line of the schedule runs, and the size of the arena.

    Results count from the line that makes room for them to the end. A kernel's own scratch does
    not count. The arena outlives the run: the plan keeps one for each run that was ever under way
    at the same time.
    """

    live: tuple[int, ...]
    arena: int

    @property
    def peak(self) -> int:
        """The most bytes that are live at once."""
        return max(self.live, default=0)
