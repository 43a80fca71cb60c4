"""Workers: what runs the calls of one model, one at a time."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from topos.serving.arena import Arena
from topos.serving.description import Description
from topos.serving.messages import Answer, Failed

__all__ = ["Worker", "ignore"]


def ignore(answer: Answer | Failed) -> None:
    """Takes an answer that nobody waits for."""


class Worker(ABC):
    """A model that is loaded, verified and compiled, and takes calls until it ends.

    All of it belongs to the loop it was started on. `ended` is set once to the reason for which
    the worker takes no more calls. `answered` is called with each answer and belongs to whoever
    submits the calls.
    """

    def __init__(self, description: Description, arena: Arena) -> None:
        self.description, self.arena = description, arena
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.answered: Callable[[Answer | Failed], None] = ignore

    @property
    def pid(self) -> int | None:
        """The number of the worker's own process, None where it has none."""
        return None

    @abstractmethod
    def submit(self, number: int, program: int, alone: bool = False) -> None:
        """Starts a call of the program at that position, whose inputs stand in the arena.

        `alone` says that the loop knows of no other request: a worker may then hold the loop for
        the moment that a quick call takes, and have `answered` called before this returns.
        """

    @abstractmethod
    def stop(self, reason: str) -> None:
        """Ends this worker for that reason, whatever it does; again it does nothing."""

    async def finish(self) -> None:
        """Returns once nothing is left of a worker that was stopped."""
        await self.ended

    def _end(self, reason: str) -> None:
        if not self.ended.done():
            self.answered = ignore
            self.ended.set_result(reason)
