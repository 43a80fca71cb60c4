"""Batches: the slices of requests that one call serves, on their way in and out of the arena."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.serving.description import Arena, Description
from topos.serving.request import BatchSlice

Array = npt.NDArray[Any]

# Rows of an array this small are given out as views of one copy: a caller who keeps a row keeps
# so much at most, and a copy for each would take longer.
SHARED_BYTES: Final = 2**16


class Batch(NamedTuple):
    """What one call of a program serves: `rows` that were asked for, and the rest is padding."""

    program: int
    rows: int
    slices: list[BatchSlice]

    def fill(self, description: Description, arena: Arena) -> None:
        """Puts the inputs of all slices into `arena`, one after the other, and zeros behind.

        Raises `ValueError` or `TypeError` where an array is not what was admitted any more.
        """
        for place, target in enumerate(arena.inputs[self.program]):
            own = target[: self.rows] if description.batched else target
            if len(self.slices) == 1:
                _copy(self.slices[0].input(place), own)
            else:
                self._gather([batch_slice.input(place) for batch_slice in self.slices], own)
            if own.size < target.size:
                target[self.rows :] = 0

    def fulfil(self, description: Description, arena: Arena) -> None:
        """Gives each slice the rows of the results in `arena` that are its own, as copies."""
        results = arena.results[self.program]
        slices = self.slices
        if not description.batched:
            slices[0].request.fulfil(slices[0], [each.copy() for each in results], description)
            return
        if len(slices) == 1:
            own = [each[: self.rows].copy() for each in results]
            slices[0].request.fulfil(slices[0], own, description)
            return
        columns = [self._parted(each[: self.rows]) for each in results]
        for batch_slice, *parts in zip(slices, *columns, strict=True):
            batch_slice.request.fulfil(batch_slice, parts, description)

    def _gather(self, parts: list[Array], target: Array) -> None:
        # An array that lost rows must not move those of others.
        if [len(part) for part in parts] != [batch_slice.rows for batch_slice in self.slices]:
            raise ValueError("an input has other rows than it had when it was admitted")
        np.concatenate(parts, out=target, casting="no")

    def _parted(self, result: Array) -> list[Array]:
        """Returns the rows of each slice."""
        stops = list(accumulate(batch_slice.rows for batch_slice in self.slices))
        bounds = zip([0, *stops], stops, strict=False)
        if result.nbytes > SHARED_BYTES:
            return [result[start:stop].copy() for start, stop in bounds]
        own = result.copy()
        return [own[start:stop] for start, stop in bounds]


def _copy(array: Array, target: Array) -> None:
    # Numpy would stretch an extent that has become one.
    if array.shape != target.shape:
        raise ValueError(f"an input was admitted as {target.shape}, and is {array.shape} by now")
    np.copyto(target, array, casting="no")
