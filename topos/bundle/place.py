"""Places: what a caller gives as the path of a bundle, as a path that can be asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from topos.errors import ArgumentError

__all__ = ["Place", "place_of"]


class Place(NamedTuple):
    """The folder that a path leads to, links followed, and the name that the path gives it."""

    folder: Path
    name: str


def place_of(path: str | os.PathLike[str], operation: str) -> Place:
    """Returns the place of `path`, whether anything exists there or not.

    Raises `ArgumentError`, which names the operation, where it is no path that can be.
    """
    try:
        text = os.fspath(path)
    except TypeError:
        raise _refused(operation, type(path).__name__) from None
    if not isinstance(text, str):
        raise _refused(operation, type(path).__name__)
    if not text or "\0" in text:
        raise _refused(operation, ascii(text))
    try:
        folder = Path(os.path.realpath(text))
    except UnicodeEncodeError:
        raise _refused(operation, ascii(text)) from None
    given = Path(text).name
    return Place(folder, folder.name if given in ("", "..") else given)


def _refused(operation: str, got: str) -> ArgumentError:
    return ArgumentError(f"{operation} needs the path of a folder, got {got}")
