"""Models: a name under which one version after another of a bundle is served."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
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
from topos.serving.lane import Lane
from topos.serving.messages import Origin
from topos.serving.outcome import Outcome
from topos.serving.pending import Pending
from topos.serving.request import Request
from topos.serving.seconds import MOST_SECONDS, is_time, shown
from topos.serving.settings import Settings
from topos.serving.status import ModelStatus

__all__ = ["Model"]

Array = npt.NDArray[Any]


class Model:
    """One bundle's path, the lane that serves its present version, and lanes that still finish.

    All of it belongs to the loop it was made on.
    """

    def __init__(self, origin: Origin, settings: Settings, observers: Sequence[Observer]) -> None:
        self._origin, self._settings = origin, settings
        # The worker verifies the rest of it.
        self.name = Bundle.glance(origin.path).name
        self._ledger = Ledger(self.name, observers)
        self.counters = self._ledger.counters
        self._lane = Lane(origin, settings, self._ledger)
        self._retiring: dict[Lane, asyncio.Task[None]] = {}
        self._reloads: set[asyncio.Task[ModelStatus]] = set()
        self._reloading = asyncio.Lock()
        self._refusal = ""
        self._draining = False
        self._known: tuple[tuple[object, ...], ModelStatus] | None = None

    async def open(self) -> None:
        """Starts the worker; raises where the bundle is refused.

        One whose worker crashes or takes too long is tried again, and not ready until then.
        """
        with suppress(CrashError):
            await self._lane.start()
        self._lane.keep()

    async def infer(self, inputs: Mapping[str, Any], deadline: float | None) -> Outcome:
        """Returns the results of one request; raises as `Session.infer` does."""
        return await self.enter(inputs, deadline).wait()

    def enter(self, inputs: Mapping[str, Any], deadline: float | None) -> Pending:
        """Puts one request into the queue; raises what `Session.infer` refuses it with."""
        lane, description = self._lane, self._lane.description
        if self._draining:
            raise DrainingError(f"{self.name} takes no more requests: the session is draining")
        if description is None:
            raise NotReadyError(self.name, lane.reason)
        admitted, seconds = self._admitted(description, inputs), self._seconds(deadline)
        request = Request(*admitted, seconds, lane.loop)
        if not lane.batcher.has_room(request.size):
            self._ledger.request("BusyError", request.rows, 0.0)
            raise BusyError(self.name, lane.retry_after())
        lane.enter(request)
        return Pending(lane, self._ledger, description.result_names, request)

    def refused(self, outcome: str) -> None:
        """Counts a request that was refused before it came here."""
        self._ledger.request(outcome, 0, 0.0)

    async def refuse(self, error: RequestError) -> Outcome:
        """Counts a request that was refused before it came here, and raises why."""
        self.refused(type(error).__name__)
        raise error

    def status(self) -> ModelStatus:
        """Returns the model as it stands."""
        return replace(self.served(), waiting=len(self._lane.batcher))

    def served(self) -> ModelStatus:
        """Returns the model as it stands but for its queue, built anew only where it changed."""
        lane = self._lane
        key = lane.description, lane.ready, self._draining, self._refusal or lane.reason
        if self._known is None or self._known[0] != key:
            self._known = key, self._status()
        return self._known[1]

    def _status(self) -> ModelStatus:
        lane, description = self._lane, self._lane.description
        return ModelStatus(
            name=self.name,
            version=description.version if description else "",
            ready=lane.ready and not self._draining,
            reason=self._reason(),
            batched=description.batched if description else False,
            rows=description.rows if description else (),
            inputs=description.inputs if description else (),
            results=description.results if description else (),
            runtime=self._origin.runtime,
            waiting=0,
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
        await self._lane.emptied()
        await _settled(self._retiring.values())

    async def close(self) -> None:
        """Ends every worker; requests that still wait fail with `DrainingError`."""
        self._draining = True
        for task in self._reloads:
            task.cancel()
        await _settled(self._reloads)
        for lane in self._retiring:
            lane.refuse_all()
        await _settled([*self._retiring.values(), asyncio.create_task(self._lane.close())])

    async def _reload(self) -> ModelStatus:
        async with self._reloading:
            lane = Lane(self._origin, self._settings, self._ledger)
            try:
                await lane.start()
                self._require_name(lane)
            except BaseException as error:
                await lane.close()
                if isinstance(error, ToposError):
                    self._refusal = f"the last reload was refused: {error}"
                    self._ledger.reload(self.status().version, self._refusal)
                raise
            lane.keep()
            self._refusal = ""
            old, self._lane = self._lane, lane
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
        return self._refusal if self._lane.ready else self._lane.reason

    def _require_name(self, lane: Lane) -> None:
        assert lane.description is not None
        if lane.description.name != self.name:
            raise BundleError(
                f"a reload of {self.name} needs a bundle of that name, got {lane.description.name}"
            )


async def _retired(lane: Lane) -> None:
    await lane.emptied()
    await lane.close()


async def _settled(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Returns once all are done; whoever gives up on that breaks off none of them."""
    if tasks:
        await asyncio.wait(tasks)
