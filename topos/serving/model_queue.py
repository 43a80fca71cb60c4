"""Model queues: one loaded version of a model, its requests, and the worker kept for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Final

from topos.errors import BundleError, ToposError
from topos.serving.batch import Batch
from topos.serving.batcher import Batcher
from topos.serving.counters import Ledger
from topos.serving.description import Description
from topos.serving.errors import DeadlineError, DrainingError, ServingError, WorkerError
from topos.serving.loaded import refusal
from topos.serving.messages import Answer, Failed, Origin
from topos.serving.process_worker import ProcessWorker
from topos.serving.request import BatchSlice, Deadlines, Request
from topos.serving.settings import Settings
from topos.serving.thread_worker import ThreadWorker
from topos.serving.worker import Worker

WORKERS: Final[dict[str, type[ProcessWorker] | type[ThreadWorker]]] = {
    "process": ProcessWorker,
    "thread": ThreadWorker,
}

# More would only overflow: the longest pause comes long before.
DOUBLINGS: Final = 32


class ModelQueue:
    """Requests of one version, served in the order they came, a call at a time.

    What waits while the worker is busy goes together in the next call. Where the worker ends, the
    requests of its call run again on the next one, each by itself, until their attempts are used
    up; all others wait.
    """

    def __init__(self, origin: Origin, settings: Settings, ledger: Ledger) -> None:
        self._origin, self._settings, self._ledger = origin, settings, ledger
        self.loop = asyncio.get_running_loop()
        self.batcher = Batcher(settings)
        self.description: Description | None = None
        self._reason = "its worker is starting"
        self._worker: Worker | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._batch: Batch | None = None
        # On the loop's clock, whose milliseconds are fine enough for limits, and on a finer one.
        self._submitted = self._began = 0.0
        self._number = 0
        self._failures = 0
        self._pace = 0.0
        self._limit: asyncio.TimerHandle | None = None
        self._delay: asyncio.TimerHandle | None = None
        self._wake: asyncio.Handle | None = None
        self._deadlines = Deadlines(self.batcher.requests, self._expire)
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def ready(self) -> bool:
        """Whether a worker takes calls."""
        return self._worker is not None and not self._worker.ended.done()

    @property
    def process(self) -> int | None:
        """The number of the worker's own process, None where there is none."""
        return self._worker.pid if self._worker is not None else None

    @property
    def reason(self) -> str:
        """Why no worker takes calls, or why the last one ended where one does."""
        if self._worker is not None and self._worker.ended.done():
            return self._worker.ended.result()
        return self._reason

    async def start(self) -> None:
        """Starts the first worker; raises what it refuses the bundle with, or how it ended."""
        try:
            self._attach(await self._started())
        except Exception as error:
            self._failures += 1
            self._reason = _told(error)
            raise

    def keep(self) -> None:
        """Keeps a worker running from now on."""
        self._keeper = asyncio.create_task(self._keep())

    def enter(self, request: Request) -> None:
        """Puts an admitted request into the queue; `leave` must follow."""
        self.batcher.enter(request)
        self._deadlines.enter(request.due)
        self._empty.clear()
        self._dispatch_soon()

    def leave(self, request: Request) -> None:
        """Takes a request out, done or not."""
        self.batcher.leave(request)
        if not len(self.batcher):
            self._empty.set()

    def retry_after(self) -> float:
        """Returns in how many seconds the queue, as it is, should have been served."""
        largest = self.description.largest if self.description else 1
        calls = max(self.batcher.rows / largest, 1.0)
        return max(calls * self._pace, 0.1 if self.ready else 1.0)

    async def emptied(self) -> None:
        """Returns once every request has left."""
        await self._empty.wait()

    def refuse_all(self) -> None:
        """Refuses every request that is still here."""
        self._fail(DrainingError("the session was closed before the request was served"))

    async def close(self) -> None:
        """Ends the worker, and refuses every request that is still here."""
        if self._keeper is not None:
            self._keeper.cancel()
            # Waited for, not awaited: who gives up on this must not break off its tidying.
            await asyncio.wait([self._keeper])
        self._stop_timers()
        self.refuse_all()
        if self._worker is not None:
            self._worker.stop("the session was closed")
            await self._worker.finish()

    async def _started(self) -> Worker:
        kind = WORKERS[self._settings.isolation]
        try:
            return await kind.start(self._origin, self._settings)
        except ToposError:
            raise
        except Exception as error:
            raise refusal(error) from error

    async def _keep(self) -> None:
        while True:
            if self._worker is None:
                await self._restart()
            else:
                self._detach(await asyncio.shield(self._worker.ended))

    async def _restart(self) -> None:
        if self._failures > 1:
            pause = self._settings.backoff * 2.0 ** min(self._failures - 2, DOUBLINGS)
            await asyncio.sleep(min(pause, self._settings.max_backoff))
        try:
            self._attach(await self._started())
        # Whatever it was, the next attempt may find it mended.
        except Exception as error:
            self._failures += 1
            self._reason = _told(error)

    def _attach(self, worker: Worker) -> None:
        expected = self.description
        if expected is not None and not worker.description.serves_as(expected):
            reason = "the bundle was replaced by one with another signature, which a reload takes"
            self._fail(WorkerError(reason))
            worker.stop(reason)
            raise BundleError(reason)
        if expected is not None and worker.description.version != expected.version:
            # No answer may come from two versions.
            self.batcher.begin_again()
        self.description, self._worker = worker.description, worker
        worker.answered = self._answered
        self._dispatch()

    def _detach(self, reason: str) -> None:
        batch, self._batch, self._worker = self._batch, None, None
        self._failures += 1
        self._reason = reason
        self._ledger.restart(reason)
        if batch is not None:
            self._run_again(batch.slices, reason)

    def _dispatch_soon(self) -> None:
        # Requests that come in the same turn of the loop share a call.
        if self._batch is None and self._wake is None:
            self._wake = self.loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._cancel_waking()
        worker, description = self._worker, self.description
        if self._batch is not None or worker is None or worker.ended.done() or description is None:
            return
        if not self.batcher.waits:
            return
        now = self.loop.time()
        due = self.batcher.due(now, description.largest)
        if due > 0.0:
            self._delay = self.loop.call_later(due, self._dispatch)
            return
        slices = self.batcher.take(description.largest)
        if slices:
            self._submit(worker, description, slices, now)

    def _submit(
        self, worker: Worker, description: Description, slices: list[BatchSlice], now: float
    ) -> None:
        rows = sum(each.rows for each in slices)
        batch = Batch(description.smallest(rows), rows, slices)
        try:
            batch.fill(description, worker.arena)
        # An array whose owner changed its shape meanwhile must not take others with it.
        except (TypeError, ValueError) as error:
            self._run_again(slices, _told(error), alone=len(slices) == 1)
            self._dispatch_soon()
            return
        self._batch, self._submitted, self._began = batch, now, time.perf_counter()
        self._number += 1
        # A timer for every call would cost more than one that looks at the clock when it rings.
        if self._limit is None:
            self._watch(self._settings.call_seconds)
        alone = len(self.batcher) == 1 and slices[0].whole
        worker.submit(self._number, batch.program, alone)

    def _answered(self, answer: Answer | Failed) -> None:
        worker, batch, description = self._worker, self._batch, self.description
        assert worker is not None
        assert description is not None
        if batch is None or answer.number != self._number:
            due = f"call {self._number}" if batch else "nothing"
            worker.stop(f"the worker answered call {answer.number} where {due} was due")
            return
        self._batch = None
        if isinstance(answer, Answer):
            self._failures = 0
            seconds = time.perf_counter() - self._began
            # The timer for deadlines cannot ring while a worker holds the loop.
            self._deadlines.pass_to(self._submitted + seconds)
            batch.fulfil(description, worker.arena)
            self._count(batch, description, seconds)
        else:
            self._run_again(batch.slices, answer.reason, alone=len(batch.slices) == 1)
        self._dispatch()

    def _watch(self, seconds: float) -> None:
        self._limit = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Stops a worker whose call takes too long; watches on where one is under way."""
        self._limit = None
        if self._batch is None or self._worker is None:
            return
        seconds = self._settings.call_seconds
        left = self._submitted + seconds - self.loop.time()
        if left > 0.0:
            self._watch(left)
        else:
            self._worker.stop(f"the worker was stopped after {seconds:g} seconds in one call")

    def _run_again(self, slices: Iterable[BatchSlice], reason: str, alone: bool = False) -> None:
        """Queues slices whose call failed, but for those that used up their attempts.

        What failed `alone`, while its worker goes on, fails again.
        """
        waiting = [each for each in slices if not each.request.future.done()]
        for each in waiting:
            each.runs += 1
            if alone or each.runs >= self._settings.attempts:
                each.request.refuse(WorkerError(f"{self._ledger.model} failed: {reason}"))
        self.batcher.again(each for each in waiting if not each.request.future.done())

    def _count(self, batch: Batch, description: Description, seconds: float) -> None:
        self._pace = 0.9 * self._pace + 0.1 * seconds if self._pace else seconds
        capacity = description.programs[batch.program].rows or 1
        self._ledger.call(len(batch.slices), batch.rows, capacity, seconds)

    def _fail(self, error: ServingError) -> None:
        for request in self.batcher.requests():
            request.refuse(error)

    def _expire(self, request: Request) -> None:
        # The clock is too coarse to tell the seconds from the time at which it is due.
        assert request.seconds is not None
        request.refuse(DeadlineError(self._ledger.model, request.seconds))

    def _stop_timers(self) -> None:
        self._cancel_waking()
        self._deadlines.stop()
        if self._limit is not None:
            self._limit.cancel()

    def _cancel_waking(self) -> None:
        for handle in (self._wake, self._delay):
            if handle is not None:
                handle.cancel()
        self._wake = self._delay = None


def _told(error: Exception) -> str:
    if isinstance(error, ToposError):
        return str(error)
    return f"{type(error).__name__}: {error}"
