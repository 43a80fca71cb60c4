"""Progress of long work on standard error: a bar in a terminal, lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

from topos.cli._reporting import complain

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_APART: Final = 2.0
"""How often a line is told where there is no terminal, such as in the log of a CI."""


class Position(Protocol):
    """Where long work is: `done` steps of `total` are behind."""

    @property
    def done(self) -> int:
        """How many steps are behind."""

    @property
    def total(self) -> int:
        """How many there are."""

    @property
    def what(self) -> str:
        """What comes next, or what is done."""


Show = Callable[[Position], None]


def follow(stages: Iterable[Position]) -> None:
    """Goes through all `stages` and shows how far they are; standard output stays untouched."""
    with progress() as show:
        for stage in stages:
            show(stage)


@contextmanager
def progress() -> Iterator[Show]:
    """Gives what shows how far some work is; standard output stays untouched."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    with (is_terminal and _bar()) or nullcontext(_lines()) as show:
        yield show


def _bar() -> AbstractContextManager[Show] | None:
    """Returns what draws a bar, if there is a rich to draw it."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    columns = BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False)
    return _drawn(Progress(*columns, console=Console(stderr=True), transient=True))


@contextmanager
def _drawn(bar: Progress) -> Iterator[Show]:
    with bar:
        task = bar.add_task("", total=None)

        def show(stage: Position) -> None:
            bar.update(task, completed=stage.done, total=stage.total, description=stage.what)

        yield show


def _lines() -> Show:
    told = time.monotonic()

    def show(stage: Position) -> None:
        nonlocal told
        if time.monotonic() - told >= SECONDS_APART:
            complain(f"{stage.done} of {stage.total}: {stage.what}")
            told = time.monotonic()

    return show
