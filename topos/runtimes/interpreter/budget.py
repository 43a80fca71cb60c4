"""The budget of a run: how many turns of loops and calls it may take together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from topos.errors import ExecutionError, TextError

__all__ = ["Budget", "Place", "StepsError", "limited", "running"]

# A line and a column.
Place = tuple[int, int]


class StepsError(TextError, ExecutionError):
    """The signal of a run of more steps than its budget has, at the loop or call that took it.

    The text is not at hand where it is raised; `run.py` makes the error of the caller of it.
    """


class Budget:
    """The steps that are left to one run of `@main`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def spend(self, place: Place) -> None:
        """Takes one step of the loop or the call at `place`; raises `StepsError` for none left."""
        if not self._left:
            raise StepsError(f"@main ran more than {self._limit} steps", *place)
        self._left -= 1


# Every thread, and every task, has a value of its own.
_RUNNING: Final[ContextVar[Budget | None]] = ContextVar("budget", default=None)


def running() -> Budget | None:
    """Returns the budget of the run in this context, if it has one."""
    return _RUNNING.get()


@contextmanager
def limited(max_steps: int | None) -> Iterator[None]:
    """Gives what runs inside at most `max_steps` steps, or any number for `None`.

    A step is one turn of a `stablehlo.while` or one call of a function, by `func.call` or as a
    composite's decomposition. A loop or a call applied to an array in place of a scalar is taken
    for all its elements at once. All else in a program runs at most once a step, so the steps
    bound the run.
    """
    token = _RUNNING.set(None if max_steps is None else Budget(max_steps))
    try:
        yield
    finally:
        _RUNNING.reset(token)
