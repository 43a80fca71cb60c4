"""Requests: what one caller wants of a model, and the pieces that calls serve it in."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.serving.description import Description
from topos.serving.errors import ServingError

__all__ = ["Piece", "Request"]

Array = npt.NDArray[Any]


class Request:
    """An admitted request; `future` gets its results in the order of the description.

    `rows` is one where calls have no rows of their own. On the loop's clock, it came at `began`
    and is `due` then, if ever.
    """

    __slots__ = ("_left", "_parts", "began", "due", "future", "inputs", "rows", "size")

    def __init__(
        self, inputs: Sequence[Array], rows: int, size: int, seconds: float | None
    ) -> None:
        loop = asyncio.get_running_loop()
        self.inputs, self.rows, self.size = inputs, rows, size
        self.began = loop.time()
        self.due = None if seconds is None else self.began + seconds
        self.future: asyncio.Future[list[Array]] = loop.create_future()
        self._left = rows
        self._parts: list[Array] = []

    def pieces(self, largest: int) -> list[Piece]:
        """Returns all rows of this request in parts that one call takes, none answered yet."""
        self._left, self._parts = self.rows, []
        starts = range(0, self.rows, largest)
        return [Piece(self, start, min(start + largest, self.rows)) for start in starts]

    def refuse(self, error: ServingError) -> None:
        """Answers with `error`, unless it is answered already."""
        if not self.future.done():
            self.future.set_exception(error)

    def fulfil(self, piece: Piece, results: Sequence[Array], description: Description) -> None:
        """Takes the results of one piece, copied; the last of them fulfils the request."""
        if self.future.done():
            return
        if piece.rows == self.rows:
            self.future.set_result([result.copy() for result in results])
            return
        if not self._parts:
            self._parts = [
                np.empty((self.rows, *port.shape), port.dtype) for port in description.results
            ]
        for part, result in zip(self._parts, results, strict=True):
            part[piece.start : piece.stop] = result
        self._left -= piece.rows
        if not self._left:
            self.future.set_result(self._parts)


class Piece:
    """The rows `start` to `stop` of a request; `runs` counts the calls that failed with it.

    One that failed runs again by itself, so that it cannot take others with it.
    """

    __slots__ = ("request", "runs", "start", "stop")

    def __init__(self, request: Request, start: int, stop: int) -> None:
        self.request, self.start, self.stop = request, start, stop
        self.runs = 0

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.stop - self.start
