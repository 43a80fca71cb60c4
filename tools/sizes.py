"""Holds every Python file to its size: one noun a file, which rarely needs 300 lines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final, NamedTuple

FOLDERS: Final = ("topos", "tests", "tools", "examples")
# A kernel that keeps a range of exact cases side by side may be long.
EXEMPT: Final = ("topos/payload/kernels/",)
ASKED, ALLOWED = 300, 400


class Size(NamedTuple):
    """The number of lines of one file, named from the root of the project."""

    file: str
    lines: int


def sizes(root: Path) -> list[Size]:
    """Returns the size of every Python file under `root` that has a limit, longest first."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            file = path.relative_to(root).as_posix()
            if not file.startswith(EXEMPT):
                found.append(Size(file, len(path.read_text(encoding="utf-8").splitlines())))
    return sorted(found, key=lambda size: -size.lines)


def main() -> int:
    """Prints the files that are too long and returns 1 where one is above the limit."""
    argparse.ArgumentParser(
        description=f"{__doc__} Names each file of more than {ASKED} lines, and exits with 1 where"
        f" one has more than {ALLOWED}."
    ).parse_args()
    long = [size for size in sizes(Path(__file__).resolve().parents[1]) if size.lines > ASKED]
    for file, lines in long:
        verdict = f"fails: {ALLOWED} is the limit" if lines > ALLOWED else "asks for a split"
        print(f"{file}: {lines} lines, {verdict}", file=sys.stderr)
    return int(any(lines > ALLOWED for _, lines in long))


if __name__ == "__main__":
    sys.exit(main())
