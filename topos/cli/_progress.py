"""Progress of long work on standard error: a bar in a terminal, lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from topos.cli._reporting import complain

if TYPE_CHECKING:
    from topos.bundle.trial import Step

SECONDS_APART: Final = 2.0
"""How often a line is told where there is no terminal, such as in the log of a CI."""


def follow(stages: Iterable[Step]) -> None:
    """Goes through all `stages` and shows how far they are; standard output stays untouched."""
    if sys.stderr is not None and sys.stderr.isatty() and _bar(stages):
        return
    told = time.monotonic()
    for stage in stages:
        if time.monotonic() - told >= SECONDS_APART:
            complain(f"{stage.done} of {stage.total}: {stage.what}")
            told = time.monotonic()


def _bar(stages: Iterable[Step]) -> bool:
    """Returns whether there is a rich to draw a bar, once it has drawn it."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return False
    columns = BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        for stage in stages:
            progress.update(task, completed=stage.done, total=stage.total, description=stage.what)
    return True
