"""Progress of long work: what a caller may show while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Stage(NamedTuple):
    """Where long work is: `done` steps of `total` are behind, and `what` comes or came last."""

    done: int
    total: int
    what: str


Watch = Callable[[Stage], None]
"""Is called with every stage."""


def unwatched(stage: Stage) -> None:
    """Shows nothing."""
