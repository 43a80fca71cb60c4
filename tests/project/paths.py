"""Where the project's files are, and which of them are Python modules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
# The folders on disk behind the package: two of them are mapped into it.
PACKAGES: Final = {"topos": "topos", "topos.emit": "emit", "topos.runtimes": "runtimes"}
OTHERS: Final = ("tests", "tools", "examples")


def python_files(*folders: str) -> Iterator[Path]:
    """Yields every Python file under `folders` of the project once, links left out."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def package_modules() -> dict[str, Path]:
    """Returns the file of every module of the package, by the name that it is imported by."""
    modules = {}
    for package, folder in PACKAGES.items():
        for path in python_files(folder):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            name = ".".join((package, *(part for part in parts if part != "__init__")))
            modules[name] = path
    return modules


def relative(path: Path) -> str:
    """Returns `path` as it is called from the root of the project."""
    return path.relative_to(ROOT).as_posix()
