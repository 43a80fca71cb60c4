"""Deferred callbacks: work that nobody waits for, done once the present answers have been sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["DeferredCallbacks"]


class DeferredCallbacks:
    """Work on one loop, deferred to the turn after the next and done in its order.

    A request that is fulfilled in one turn is answered in the next, and what that turn writes
    leaves at its end.
    """

    def __init__(self) -> None:
        self._work: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    def add(self, work: Callable[..., object], *arguments: object) -> None:
        """Defers `work(*arguments)`, which must not raise."""
        if not self._work:
            asyncio.get_running_loop().call_soon(self._wait)
        self._work.append((work, arguments))

    def _wait(self) -> None:
        asyncio.get_running_loop().call_soon(self._finish)

    def _finish(self) -> None:
        deferred, self._work = self._work, []
        for work, arguments in deferred:
            work(*arguments)
