"""Places: what a caller gives as the path of a bundle, as a path that can be asked for."""

from __future__ import annotations

import os
from pathlib import Path

from topos.errors import ArgumentError

__all__ = ["place_of"]


def place_of(path: str | os.PathLike[str], operation: str) -> Path:
    """Returns the folder that `path` leads to, links followed, whether it is there or not.

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
        return Path(os.path.realpath(text))
    except UnicodeEncodeError:
        raise _refused(operation, ascii(text)) from None


def _refused(operation: str, got: str) -> ArgumentError:
    return ArgumentError(f"{operation} needs the path of a folder, got {got}")
