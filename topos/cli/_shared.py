"""What the subcommands share: reading a file, telling a fault, laying out a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from topos.errors import ArgumentError, ToposError, UnavailableError
from topos.runtimes._command import DONE, FAILED, UNUSABLE, describe

__all__ = ["EXIT", "of_file", "table"]

EXIT = """\
exit status: 0 done; 1 the module is refused or its run failed; 2 wrong usage, an unreadable file,
or something that this installation lacks; 130 interrupted.
"""


def of_file(path: str, action: Callable[[str], None]) -> int:
    """Runs `action` on the text of a file and returns the exit status.

    `-` is standard input. A fault is told on standard error as `FILE:LINE:COLUMN: reason`,
    followed by the line and a caret.
    """
    try:
        action(_text(path))
    except (ArgumentError, UnavailableError) as error:
        return _fail(str(error), UNUSABLE)
    except ToposError as error:
        return _fail(describe(path, error), FAILED)
    except UnicodeDecodeError as error:
        return _fail(f"{path}: a module needs UTF-8 text: {error}", FAILED)
    return DONE


def _text(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        # A file that cannot be read is not a pipe that closed.
        raise UnavailableError(f"{path}: {error.strerror}") from error


def _fail(message: str, status: int) -> int:
    print(message, file=sys.stderr)
    return status


def table(rows: Iterable[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Returns rows of one length as aligned columns; those numbered in `right` end flush."""
    lines = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
