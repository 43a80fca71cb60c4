"""Offers: what a backend answers to a task, a kernel or the reason that it declines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from topos.backend.coverage import Coverage
from topos.backend.formula import Formula
from topos.backend.status import Status
from topos.backend.task import Task

__all__ = ["Declined", "Implementer", "Kernel"]

# The operands' arrays by position and `out`, an array for the result; answers the result.
Kernel = Callable[..., Any]


class Declined(NamedTuple):
    """Why a backend leaves a task to the next in its chain."""

    reason: str


class Implementer(Protocol):
    """What the module of a backend offers; loading it loads no foreign package."""

    COVERAGE: Mapping[Formula, Coverage]

    def absence(self) -> str | None:
        """Returns what this install lacks, or `None`; looks without loading it."""

    def status(self) -> Status:
        """Returns whether the backend serves here, tried out, or why it does not."""

    def offer(self, formula: Formula, task: Task, exact: bool) -> Kernel | Declined:
        """Returns a kernel for a task that the backend covers, or the reason it declines.

        A kernel that is composed from others sums as the posture does.
        """
