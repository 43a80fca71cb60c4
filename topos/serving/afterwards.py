"""Afterwards: work that nobody waits for, done once the answers of this moment are on their way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Afterwards"]


class Afterwards:
    """Work on one loop, put off to the turn after the next and done in its order.

    A request that is fulfilled in one turn is answered in the next, and what that turn writes
    leaves at its end.
    """

    def __init__(self) -> None:
        self._work: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    def add(self, work: Callable[..., object], *arguments: object) -> None:
        """Puts off `work(*arguments)`, which must not raise."""
        if not self._work:
            asyncio.get_running_loop().call_soon(self._wait)
        self._work.append((work, arguments))

    def _wait(self) -> None:
        asyncio.get_running_loop().call_soon(self._finish)

    def _finish(self) -> None:
        put_off, self._work = self._work, []
        for work, arguments in put_off:
            work(*arguments)
