"""Requests: what one caller wants of a model, until when, and the slices that calls serve it in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.serving.description import Description
from topos.serving.errors import ServingError

Array = npt.NDArray[Any]


class Request:
    """An admitted request; `future` gets its results in the order of the description.

    `rows` is one where calls have no rows of their own; the first `taken` of them are in calls.
    On the loop's clock, it came at `came` and is `due` then, `seconds` later, if ever; `began` is
    the same moment on `time.perf_counter`, as a loop's clock may tell no more than milliseconds.
    Once fulfilled, `version` is the one that answered.
    """

    __slots__ = (
        *("_left", "_parts", "began", "came", "due", "future", "inputs", "rows", "seconds"),
        *("size", "taken", "version"),
    )

    def __init__(
        self,
        inputs: Sequence[Array],
        rows: int,
        size: int,
        seconds: float | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.inputs, self.rows, self.size = inputs, rows, size
        self.began, self.came = time.perf_counter(), loop.time()
        self.seconds = seconds
        self.due = None if seconds is None else self.came + seconds
        self.future: asyncio.Future[list[Array]] = loop.create_future()
        self.version = ""
        self.begin()

    def begin(self) -> None:
        """Starts anew, no row in a call and none answered."""
        self.taken, self._left = 0, self.rows
        self._parts: list[Array] = []

    def take(self, rows: int) -> BatchSlice:
        """Returns the next so many rows as a slice of their own."""
        start = self.taken
        self.taken = start + rows
        return BatchSlice(self, start, self.taken)

    def refuse(self, error: ServingError) -> None:
        """Answers with `error`, unless it is answered already."""
        if not self.future.done():
            self.future.set_exception(error)

    def fulfil(
        self, batch_slice: BatchSlice, results: list[Array], description: Description
    ) -> None:
        """Takes the results of one slice; the last of them fulfils the request.

        `results` become the caller's where the slice is the whole request.
        """
        if self.future.done():
            return
        self.version = description.version
        if batch_slice.rows == self.rows:
            self.future.set_result(results)
            return
        if not self._parts:
            self._parts = [
                np.empty((self.rows, *port.shape), port.dtype) for port in description.results
            ]
        for part, result in zip(self._parts, results, strict=True):
            part[batch_slice.start : batch_slice.stop] = result
        self._left -= batch_slice.rows
        if not self._left:
            self.future.set_result(self._parts)


class BatchSlice:
    """The rows `start` to `stop` of a request; `runs` counts the calls that failed with it.

    One that failed runs again by itself, so that it cannot take others with it.
    """

    __slots__ = ("request", "rows", "runs", "start", "stop")

    def __init__(self, request: Request, start: int, stop: int) -> None:
        self.request, self.start, self.stop = request, start, stop
        self.rows = stop - start
        self.runs = 0

    @property
    def whole(self) -> bool:
        """Whether it is all of its request."""
        return self.rows == self.request.rows

    def input(self, place: int) -> Array:
        """Returns its rows of the input at that place."""
        array = self.request.inputs[place]
        return array if self.whole else array[self.start : self.stop]


class Deadlines:
    """Calls `expire` with each of `requests()` that is not done when it is due.

    Most requests are answered long before, and a timer for each would cost them more than all
    else that a queue does: the one timer is set anew only where a request is due before it.
    """

    def __init__(
        self, requests: Callable[[], Collection[Request]], expire: Callable[[Request], None]
    ) -> None:
        self._requests, self._expire = requests, expire
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._rings = 0.0

    def enter(self, due: float | None) -> None:
        """Minds a request that is due at that time of the loop's clock, or never."""
        if due is not None and (self._timer is None or due < self._rings):
            self.stop()
            self._timer, self._rings = self._loop.call_at(due, self._rung), due

    def pass_to(self, now: float) -> None:
        """Tells what time it is: rings where the timer should have by then."""
        if self._timer is not None and now >= self._rings:
            self._ring(now)

    def stop(self) -> None:
        """Minds nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rung(self) -> None:
        self._ring(self._loop.time())

    def _ring(self, now: float) -> None:
        self.stop()
        pending = [(each.due, each) for each in self._requests() if not each.future.done()]
        for due, request in pending:
            if due is not None and due <= now:
                self._expire(request)
        self.enter(min((due for due, _ in pending if due is not None and due > now), default=None))
