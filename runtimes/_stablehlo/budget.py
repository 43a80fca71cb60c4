"""The budget of a run: how many turns its loops may take together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from topos.errors import ExecutionError

__all__ = ["Budget", "limited", "running"]


class Budget:
    """The turns that are left to the loops of one run of `@main`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def spend(self, line: int) -> None:
        """Takes one turn of the loop at `line`; raises `ExecutionError` where none is left."""
        if not self._left:
            raise ExecutionError(f"@main ran more than {self._limit} steps, at line {line}")
        self._left -= 1


# Every thread, and every task, has a value of its own.
_RUNNING: Final[ContextVar[Budget | None]] = ContextVar("budget", default=None)


def running() -> Budget | None:
    """Returns the budget of the run in this context, if it has one."""
    return _RUNNING.get()


@contextmanager
def limited(max_steps: int | None) -> Iterator[None]:
    """Gives what runs inside at most `max_steps` steps, or any number for `None`.

    A step is one turn of a `stablehlo.while`, its own or that of a loop inside it; a loop applied
    to an array in place of a scalar turns for all its elements at once. All else in a program runs
    at most once a turn, so the steps bound the run.
    """
    token = _RUNNING.set(None if max_steps is None else Budget(max_steps))
    try:
        yield
    finally:
        _RUNNING.reset(token)
