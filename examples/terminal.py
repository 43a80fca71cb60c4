"""What examples show and take in a terminal: progress, the table of runtimes, bounded options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

try:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Table
    from rich.text import Text
except ImportError:
    needs = "the examples need rich: pip install 'topos-compiler[examples]'"
    print(needs, file=sys.stderr)
    raise SystemExit(2) from None

__all__ = ["Console", "Progress", "Table", "bounded", "progress", "runtimes_table", "unwritable"]


def progress(console: Console, unit: str) -> Progress:
    """Returns a bar whose tasks count `unit` and tell a `loss`."""
    columns = TextColumn("training"), BarColumn(), MofNCompleteColumn()
    tail = TextColumn(f"{unit}, loss {{task.fields[loss]:.4f}}")
    return Progress(*columns, tail, console=console)


def runtimes_table(
    cells: Sequence[Sequence[str]], headings: Sequence[str], title: str, caption: str
) -> Table:
    """Returns rows of `everywhere.rows` as a table; `headings` name what follows the state."""
    columns = Table(title=title, caption=caption, caption_justify="left")
    columns.add_column("runtime")
    columns.add_column("ready, or why not")
    for heading in headings:
        columns.add_column(heading, justify="right", no_wrap=True)
    for row in cells:
        # Plain text: a name in brackets, as an extra has, is no markup here.
        columns.add_row(*map(Text, row))
    return columns


def bounded(
    parser: argparse.ArgumentParser,
    arguments: list[str] | None,
    limits: Mapping[str, tuple[int, int]],
) -> argparse.Namespace:
    """Returns the parsed options; ends the process where an integer is beyond its limits."""
    chosen = parser.parse_args(arguments)
    for name, (least, most) in limits.items():
        number = getattr(chosen, name)
        if not least <= number <= most:
            parser.error(f"--{name} needs {least} to {most}, got {number}")
    return chosen


def unwritable(path: Path, error: OSError) -> int:
    """Says that a file cannot be written; returns the exit status for that."""
    print(f"{path} cannot be written: {error.strerror}", file=sys.stderr)
    return 1
