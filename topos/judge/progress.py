"""Progress of long work: what a caller may show while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Stage(NamedTuple):
    """Where long work is: `done` steps are behind, and `what` comes or came last.

    `total` is `None` where nobody knows how many steps there are.
    """

    done: int
    total: int | None
    what: str


Watch = Callable[[Stage], None]
"""Is called with every stage."""


def unwatched(stage: Stage) -> None:
    """Shows nothing."""
