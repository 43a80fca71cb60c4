"""Pending requests: in a queue, until whoever asked takes the outcome."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from topos.serving.counters import Ledger
from topos.serving.lane import Lane
from topos.serving.outcome import Outcome
from topos.serving.request import Request

__all__ = ["Pending"]


class Pending:
    """A request in its lane's queue; `future` is done once there is an answer or a refusal.

    Whoever asked ends it by `wait`, or by `outcome` once the future is done, or by `give_up`.
    """

    __slots__ = ("_lane", "_ledger", "_names", "_request", "future")

    def __init__(
        self, lane: Lane, ledger: Ledger, names: tuple[str, ...], request: Request
    ) -> None:
        self._lane, self._ledger, self._names, self._request = lane, ledger, names, request
        self.future: asyncio.Future[list[Any]] = request.future

    async def wait(self) -> Outcome:
        """Returns the outcome once there is one; a caller that is cancelled leaves the queue."""
        try:
            await self.future
        except (asyncio.CancelledError, GeneratorExit):
            self.give_up()
            raise
        # The outcome raises it, and counts it.
        except Exception:
            pass
        return self.outcome()

    def outcome(self) -> Outcome:
        """Returns the results with the version that computed them, or raises the refusal."""
        failure = self.future.exception()
        self._leave("ok" if failure is None else type(failure).__name__)
        results = self.future.result()
        # Whatever version answered has the ports of the one that the request came to.
        return Outcome(dict(zip(self._names, results, strict=True)), self._request.version)

    def give_up(self) -> None:
        """Leaves the queue without an answer."""
        self._leave("cancelled")

    def _leave(self, outcome: str) -> None:
        request = self._request
        self._lane.leave(request)
        self._ledger.request(outcome, request.rows, time.perf_counter() - request.began)
