"""Paces: how long a model's calls have taken lately, program by program."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["Pace"]

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
