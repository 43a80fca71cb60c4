"""What the subcommands share: arguments, reading a file, telling a fault, laying out a table."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from topos import runtimes
from topos.cli._reporting import DONE, status_of
from topos.engine import Numerics
from topos.errors import UnavailableError
from topos.stablehlo.forms import text_of
from topos.stablehlo.forms.mistakes import folder_mistake

# What parts the modules of one file, as in MLIR's own tests.
PARTING: Final = "// -----"
_BLANK: Final = re.compile(r"(?:\s|//[^\n]*)*+")
EXIT = """\
exit status: 0 done; 1 the module is refused or its run failed; 2 wrong usage, an unreadable file,
or something that this installation lacks; 130 interrupted.
"""


def of_file(path: str, action: Callable[[str], None]) -> int:
    """Runs `action` on the text of a file's module and returns the exit status.

    The file may hold any form of a module; `-` is standard input. A fault is told on standard error
    as `FILE:LINE:COLUMN: reason`, followed by the line and a caret.
    """
    return _status(path, lambda: action(_text(path)))


def of_parts(path: str, action: Callable[[str], None]) -> int:
    """Runs `action` on the text of each module of a file and returns the highest exit status.

    Several modules are parted by lines of `PARTING`. A fault in one does not stop the ones after
    it, and is told as `of_file` does, at its line of the file.
    """
    texts: list[str] = []
    status = of_file(path, lambda text: texts.extend(parts(text)))
    return max([status, *[_status(path, partial(action, text)) for text in texts]])


def parts(text: str) -> list[str]:
    """Returns the modules of a text that lines of `PARTING` split, each at its own lines.

    A part of blanks and comments alone is left out, unless there is no other.
    """
    found, lines = [], 0
    for part in re.split(rf"^{PARTING}$\n?", text, flags=re.MULTILINE):
        if not _BLANK.fullmatch(part):
            found.append("\n" * lines + part)
        lines += part.count("\n") + 1
    return found or [text]


def _status(path: str, action: Callable[[], None]) -> int:
    def report() -> int:
        action()
        return DONE

    return status_of(report, path)


def content_of(path: str) -> bytes:
    """Returns what a file or, for `-`, standard input holds; raises `UnavailableError`."""
    # What the system has against a path is told below, where it is opened.
    if path != "-" and os.path.isdir(path):
        raise UnavailableError(f"{path}: {folder_mistake(Path(path))}")
    with naming(path):
        return _content(path)


def _text(path: str) -> str:
    data = content_of(path)
    try:
        return text_of(data)
    # A binary form without jaxlib: the text that a bundle has beside it needs none.
    except UnavailableError as error:
        text = _text_beside(Path(path))
        beside = "" if text is None else f"; its text is {text}"
        raise UnavailableError(f"{path}: {error}{beside}") from error


def _text_beside(artifact: Path) -> Path | None:
    """Returns the text of an artifact that a bundle's manifest pairs with it, if one does."""
    try:
        manifest = json.loads((artifact.parent / "manifest.json").read_bytes())
        pairs = {each["artifact"]["name"]: each["module"]["name"] for each in manifest["programs"]}
        text = artifact.parent / pairs[artifact.name]
    # Any file may be called so.
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return text if text.is_file() else None


def _content(path: str) -> bytes:
    if path != "-":
        return Path(path).read_bytes()
    # What was closed before the start is None.
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    # A locale may take any bytes for text.
    return sys.stdin.buffer.read()


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Names the file that cannot be read or written, which is not standard output that closed."""
    try:
        yield
    except OSError as error:
        folder = Path(path.removeprefix("--png ")).absolute().parent
        absent = error.errno == errno.ENOENT and not folder.is_dir()
        reason = f"there is no folder {folder}" if absent else error.strerror or error
        raise UnavailableError(f"{path}: {reason}") from error


def add_bundle_arguments(
    parser: ArgumentParser, what: str = "the folder of an exported model"
) -> None:
    """Adds the bundle of a command, the runtimes that it goes to, and their numerics."""
    parser.add_argument("bundle", metavar="BUNDLE", help=what)
    parser.add_argument(
        "--runtime",
        metavar="NAME",
        action="append",
        choices=runtimes.names(),
        help=f"one of {', '.join(runtimes.names())}; may be given again (default: all that are "
        "ready)",
    )
    _add_numerics(parser, Numerics.FAST, "default: %(default)s")


def add_devices(parser: ArgumentParser) -> None:
    """Adds the devices whose machine code is written into a bundle."""
    parser.add_argument(
        "--compiled",
        metavar="DEVICE",
        action="append",
        help="add the machine code of XLA for a device, such as cpu; may be given again",
    )


def add_compiled(parser: ArgumentParser) -> None:
    """Adds whether machine code of a bundle is used."""
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="run the machine code in the bundle where it fits: only where you trust its author",
    )


def add_runtime_arguments(
    parser: ArgumentParser, default: str = "interpreter", numerics: Numerics = Numerics.EXACT
) -> None:
    """Adds the one runtime of a command, and its numerics."""
    parser.add_argument(
        "--runtime", choices=runtimes.names(), default=default, help="default: %(default)s"
    )
    told = "exact: round every operation for itself; fast: what the runtime does by itself "
    _add_numerics(parser, numerics, f"{told}(default: %(default)s)")


def _add_numerics(parser: ArgumentParser, default: Numerics, told: str) -> None:
    choices = [each.value for each in Numerics]
    parser.add_argument("--numerics", choices=choices, default=default.value, help=told)


class Parted:
    """What prints texts with a line of `PARTING` between them."""

    def __init__(self) -> None:
        self._line = ""

    def print(self, text: str) -> None:
        """Prints one text."""
        print(f"{self._line}{text}", end="")
        self._line = f"{PARTING}\n"


def whole(text: str, least: int = 0, most: int | None = None) -> int:
    """Returns a whole number; argparse tells of any other as a wrong usage."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if number < least or (most is not None and number > most):
        end = "on" if most is None else f"to {most}"
        raise ArgumentTypeError(f"needs a whole number from {least} {end}, got {text!r}")
    return number


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
