"""Deadlines: one timer for all requests of a model queue, set to the earliest that may be due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from topos.serving.request import Request

__all__ = ["Deadlines"]


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
