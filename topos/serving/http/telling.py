"""Telling: what happens to workers, as lines for people."""

from __future__ import annotations

from collections.abc import Callable

from topos.serving.counters import Observer

__all__ = ["Telling"]


class Telling(Observer):
    """An observer of a session that announces each worker that ended."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        """`announce` has to return at once."""
        self._announce = announce

    def worker_restarted(self, model: str, reason: str) -> None:
        """Tells why a worker ended, in one line."""
        self._announce(f"{model} starts its worker again: {' / '.join(reason.splitlines())}")
