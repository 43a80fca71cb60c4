"""Telling: what happens to workers, as lines for people."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Telling"]


class Telling:
    """An observer of a session that announces each worker that ended."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        """`announce` has to return at once."""
        self._announce = announce

    def request_finished(self, model: str, outcome: str, rows: int, seconds: float) -> None:
        """Tells nothing."""

    def call_finished(
        self, model: str, requests: int, rows: int, capacity: int, seconds: float
    ) -> None:
        """Tells nothing."""

    def worker_restarted(self, model: str, reason: str) -> None:
        """Tells why a worker ended, in one line."""
        self._announce(f"{model} starts its worker again: {' / '.join(reason.splitlines())}")

    def reload_finished(self, model: str, version: str, reason: str) -> None:
        """Tells nothing: whoever asked for the reload does."""
