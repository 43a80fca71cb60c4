"""Progress of long work on standard error: a bar in a terminal, lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING, Final, Protocol

from topos.cli._reporting import complain

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_APART: Final = 2.0
"""How often a line is told where there is no terminal, such as in the log of a CI."""


class Position(Protocol):
    """Where long work is: `done` steps of `total` are behind, if anybody knows how many."""

    @property
    def done(self) -> int:
        """How many steps are behind."""

    @property
    def total(self) -> int | None:
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
    with (is_terminal and _bar()) or _lines() as show:
        yield show


@contextmanager
def _lines() -> Iterator[Show]:
    lines = _Lines()
    try:
        yield lines
    finally:
        lines.end()


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


class _Lines:
    """Tells the latest position at most once in a while, also where a step takes long."""

    def __init__(self) -> None:
        self._told = time.monotonic()
        self._timer: Timer | None = None

    def __call__(self, stage: Position) -> None:
        self.end()
        left = SECONDS_APART - (time.monotonic() - self._told)
        if left <= 0:
            self._tell(stage)
            return
        self._timer = Timer(left, self._tell, (stage,))
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Tells nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self, stage: Position) -> None:
        self._told = time.monotonic()
        # Nobody needs to hear of progress where standard error is closed.
        with suppress(OSError, ValueError):
            where = "" if stage.total is None else f"{stage.done} of {stage.total}: "
            complain(f"{where}{stage.what}")
