"""Models: a name under which one version after another of a bundle is served."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy.typing as npt

from topos.bundle import Bundle
from topos.errors import BundleError, CrashError, ToposError
from topos.serving.admission import Admitted, admit
from topos.serving.counters import Ledger, Observer
from topos.serving.description import Description
from topos.serving.errors import (
    BusyError,
    DrainingError,
    NotReadyError,
    RequestError,
)
from topos.serving.messages import Origin
from topos.serving.model_queue import ModelQueue
from topos.serving.request import Request
from topos.serving.settings import MOST_SECONDS, Settings, is_time, shown
from topos.serving.status import ModelStatus, Outcome

Array = npt.NDArray[Any]


class Model:
    """One bundle's path, the queue that serves its present version, and queues that still finish.

    All of it belongs to the loop it was made on.
    """

    def __init__(self, origin: Origin, settings: Settings, observers: Sequence[Observer]) -> None:
        self._origin, self._settings = origin, settings
        # The worker verifies the rest of it.
        self.name = Bundle.glance(origin.path).name
        self._ledger = Ledger(self.name, observers)
        self.counters = self._ledger.counters
        self._queue = ModelQueue(origin, settings, self._ledger)
        self._retiring: dict[ModelQueue, asyncio.Task[None]] = {}
        self._reloads: set[asyncio.Task[ModelStatus]] = set()
        self._reloading = asyncio.Lock()
        self._refusal = ""
        self._draining = False

    async def open(self) -> None:
        """Starts the worker; raises where the bundle is refused.

        One whose worker crashes or takes too long is tried again, and not ready until then.
        """
        with suppress(CrashError):
            await self._queue.start()
        self._queue.keep()

    async def infer(self, inputs: Mapping[str, Any], deadline: float | None) -> Outcome:
        """Returns the results of one request; raises as `Session.infer` does."""
        queue = self._queue
        request, names = self._entered(queue, inputs, deadline)
        outcome = "cancelled"
        try:
            results = await request.future
            outcome = "ok"
        except Exception as error:
            outcome = type(error).__name__
            raise
        finally:
            queue.leave(request)
            self._ledger.request(outcome, request.rows, time.perf_counter() - request.began)
        # Whatever version answered has the ports of the one that the request came to.
        return Outcome(dict(zip(names, results, strict=True)), request.version)

    def _entered(
        self, queue: ModelQueue, inputs: Mapping[str, Any], deadline: float | None
    ) -> tuple[Request, tuple[str, ...]]:
        """Returns a request that is in the queue, and the names of its results."""
        if self._draining:
            raise DrainingError(f"{self.name} takes no more requests: the session is draining")
        description = self.served()
        admitted, seconds = self._admitted(description, inputs), self._seconds(deadline)
        request = Request(*admitted, seconds, queue.loop)
        if not queue.batcher.has_room(request.size):
            self._ledger.request("BusyError", request.rows, 0.0)
            raise BusyError(self.name, queue.retry_after())
        queue.enter(request)
        return request, description.result_names

    def refused(self, outcome: str) -> None:
        """Counts a request that was refused before it came here."""
        self._ledger.request(outcome, 0, 0.0)

    async def refuse(self, error: RequestError) -> Outcome:
        """Counts a request that was refused before it came here, and raises why."""
        self.refused(type(error).__name__)
        raise error

    def served(self) -> Description:
        """Returns the version that serves; raises `NotReadyError` where there was none yet."""
        description = self._queue.description
        if description is None:
            raise NotReadyError(self.name, self._queue.reason)
        return description

    def status(self) -> ModelStatus:
        """Returns the model as it stands."""
        queue, description = self._queue, self._queue.description
        return ModelStatus(
            name=self.name,
            version=description.version if description else "",
            ready=queue.ready and not self._draining,
            reason=self._reason(),
            batched=description.batched if description else False,
            rows=description.rows if description else (),
            inputs=description.inputs if description else (),
            results=description.results if description else (),
            runtime=self._origin.runtime,
            waiting=len(queue.batcher),
            process=queue.process,
            notes=description.notes if description else (),
        )

    async def reload(self) -> ModelStatus:
        """Swaps in the bundle that now stands at the path, once its worker has verified it.

        Requests that came before finish on the version they came to. Raises what the new bundle
        is refused with, or `DrainingError` where the model closes meanwhile; the old version then
        goes on as if nothing had happened.
        """
        task = asyncio.create_task(self._reload())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)
        await _settled([task])
        if task.cancelled():
            raise DrainingError(f"{self.name} was closed before it was reloaded")
        return task.result()

    async def drain(self) -> None:
        """Takes no more requests, and returns once all are answered."""
        self._draining = True
        await self._queue.emptied()
        await _settled(self._retiring.values())

    async def close(self) -> None:
        """Ends every worker; requests that still wait fail with `DrainingError`."""
        self._draining = True
        for task in self._reloads:
            task.cancel()
        await _settled(self._reloads)
        for queue in self._retiring:
            queue.refuse_all()
        await _settled([*self._retiring.values(), asyncio.create_task(self._queue.close())])

    async def _reload(self) -> ModelStatus:
        async with self._reloading:
            queue = ModelQueue(self._origin, self._settings, self._ledger)
            try:
                await queue.start()
                self._require_name(queue)
            except BaseException as error:
                await queue.close()
                if isinstance(error, ToposError):
                    self._refusal = f"the last reload was refused: {error}"
                    self._ledger.reload(self.status().version, self._refusal)
                raise
            queue.keep()
            self._refusal = ""
            old, self._queue = self._queue, queue
            task = self._retiring[old] = asyncio.create_task(_retired(old))
            task.add_done_callback(lambda _: self._retiring.pop(old))
            self._ledger.reload(self.status().version, "")
            return self.status()

    def _admitted(self, description: Description, inputs: Mapping[str, Any]) -> Admitted:
        try:
            return admit(description, inputs, self._settings)
        except RequestError as error:
            self._ledger.request(type(error).__name__, 0, 0.0)
            raise

    def _seconds(self, deadline: float | None) -> float | None:
        if deadline is None:
            return self._settings.deadline
        # Refused as all else is, before a loop's timer is set to it.
        if not is_time(deadline) or not deadline > 0.0:
            needs = f"needs seconds above zero and {MOST_SECONDS:g} at most"
            raise RequestError("deadline", f"{needs}, got {shown(deadline)}")
        return float(deadline)

    def _reason(self) -> str:
        if self._draining:
            return "the session is draining"
        return self._refusal if self._queue.ready else self._queue.reason

    def _require_name(self, queue: ModelQueue) -> None:
        assert queue.description is not None
        if queue.description.name != self.name:
            raise BundleError(
                f"a reload of {self.name} needs a bundle of that name, got {queue.description.name}"
            )


async def _retired(queue: ModelQueue) -> None:
    await queue.emptied()
    await queue.close()


async def _settled(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Returns once all are done; whoever gives up on that breaks off none of them."""
    if tasks:
        await asyncio.wait(tasks)
