"""Where the project's files are, and which of them are Python modules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
OTHERS: Final = ("tests", "tools", "examples")


def python_files(*folders: str) -> Iterator[Path]:
    """Yields every Python file under `folders` of the project."""
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def package_modules() -> dict[str, Path]:
    """Returns the file of every module of the package, by the name that it is imported by."""
    modules = {}
    for path in python_files("topos"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(part for part in parts if part != "__init__")] = path
    return modules


def relative(path: Path) -> str:
    """Returns `path` as it is called from the root of the project."""
    return path.relative_to(ROOT).as_posix()
