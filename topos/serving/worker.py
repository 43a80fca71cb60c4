"""Workers: what runs the calls of a model, one at a time, and how long calls took lately."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from topos.serving.description import Arena, Description
from topos.serving.messages import Answer, Failed


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


SHARE: Final = 0.1


class Pace:
    """Running means of the seconds that calls of each program took; a call counts `most` at most.

    A mean, and not a median, so that a program which is slow now and then does not pass for quick.
    """

    def __init__(self, programs: int, most: float = math.inf) -> None:
        self._seconds = [math.inf] * programs
        self._most = most

    def seconds(self, program: int) -> float:
        """Returns what a call of that program is likely to take; infinity before the first."""
        return self._seconds[program]

    def learn(self, program: int, seconds: float) -> None:
        """Takes how long a call of that program took."""
        before, seconds = self._seconds[program], min(seconds, self._most)
        if before == math.inf:
            self._seconds[program] = seconds
        else:
            self._seconds[program] = before + SHARE * (seconds - before)
