"""Memory: what a plan holds at once, beyond its arguments and constants."""

from __future__ import annotations

from typing import NamedTuple


class Memory(NamedTuple):
    """Bytes, beyond the arguments and constants.

    `live` is what is of use while each line of the schedule runs, `arena` the size of the block
    that most of it lies in, and `beside` what each line holds outside of the block: the results so
    far, from the line that makes room for them to the end, and the values that kernels allocate.

    The arena outlives the run: the plan keeps one for each run that was ever under way at the same
    time. It also keeps the memory of large results, those of two runs at most, to give it again.

    Not counted are a kernel's own scratch, the row-major copy of a fed array that has another
    layout, the copy of every fed array where the plan keeps values for `Run.backward` or a result
    may be a view of an input, and what an exact run holds that starts over because of a NaN.
    """

    live: tuple[int, ...]
    arena: int
    beside: tuple[int, ...]

    @property
    def peak(self) -> int:
        """The most bytes that a run holds at once: its arena, its results and other values."""
        return self.arena + max(self.beside, default=0)
