"""Swaps: a folder that takes the place of another, and what is seen of it meanwhile."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from topos.bundle.folder import read_manifest
from topos.bundle.manifest import MANIFEST
from topos.errors import BundleError

__all__ = ["OLD", "prefix_of", "present_manifest", "remains_of", "swap"]

# From linux/fs.h and fcntl.h: swap two names at once, names relative to the working folder.
EXCHANGE: Final = 1 << 1
HERE: Final = -100

OLD: Final = ".old"
"""What ends the name of a bundle that made room for another one."""

ATTEMPTS: Final = 50
PAUSE_SECONDS: Final = 0.002


def swap(partial: Path, target: Path) -> None:
    """Puts `partial` at `target`; what stood there stands at `partial` afterwards, or nowhere.

    Where that fails, what stood at `target` stands there still.
    """
    if not target.exists():
        os.rename(partial, target)
    elif not _exchanged(partial, target):
        # Without an exchange there is a moment of no bundle, but never one of half a bundle.
        old = Path(f"{partial}{OLD}")
        os.rename(target, old)
        try:
            os.rename(partial, target)
        except BaseException:
            # Whoever else took the place in this moment keeps it.
            with suppress(OSError):
                os.rename(old, target)
            raise
        shutil.rmtree(old, ignore_errors=True)


def present_manifest(folder: Path) -> bytes:
    """Returns the bytes of a manifest, awaited where its folder is just making room for another."""
    for _ in range(ATTEMPTS):
        try:
            return read_manifest(folder)
        except BundleError:
            # The old one is seen first: it stands aside until the new one has its place.
            if not _stands_aside(folder) and not os.path.lexists(folder / MANIFEST):
                raise
        time.sleep(PAUSE_SECONDS)
    return read_manifest(folder)


def prefix_of(target: Path) -> str:
    """Returns how the names of folders begin that are to take the place of `target`."""
    # Hidden, and short enough for any file system where each character takes four bytes.
    return f".{target.name[:32]}."


def remains_of(target: Path) -> list[tuple[Path, re.Match[str]]]:
    """Returns the folders beside `target` that were or are to take its place.

    Each comes with its `process` and the `machine` of that.
    """
    pattern = re.compile(
        re.escape(prefix_of(target))
        + rf"(?P<process>\d+)-(?P<machine>[0-9a-f]+)\.[^.]+\.partial({re.escape(OLD)})?"
    )
    try:
        beside = list(target.parent.iterdir())
    except OSError:
        return []
    found = ((path, pattern.fullmatch(path.name)) for path in beside)
    return [(path, match) for path, match in found if match is not None]


def _stands_aside(folder: Path) -> bool:
    return any(path.name.endswith(OLD) for path, _ in remains_of(folder))


def _exchanged(partial: Path, target: Path) -> bool:
    """Returns whether the system swapped two folders at once."""
    if sys.platform != "linux":
        return False
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    done = function(HERE, os.fsencode(partial), HERE, os.fsencode(target), EXCHANGE)
    if done == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(code, os.strerror(code), os.fspath(target))
