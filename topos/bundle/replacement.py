"""Replacement: a folder written beside its place, which then takes it whole."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from topos.bundle.folder import read_manifest
from topos.bundle.manifest import MANIFEST, decoded
from topos.errors import BundleError

__all__ = ["demand_place", "replacing"]

# From linux/fs.h and fcntl.h: swap two names at once, names relative to the working folder.
EXCHANGE: Final = 1 << 1
HERE: Final = -100


def demand_place(path: Path) -> None:
    """Raises what `replacing` would for a place that cannot be taken, and writes nothing.

    That is `BundleError` where something stands there that is no bundle, and `OSError` where the
    folder around it takes no other.
    """
    target = Path(os.path.realpath(path))
    _demand_replaceable(target)
    around = target.parent
    while not os.path.lexists(around):
        around = around.parent
    code = 0 if os.access(around, os.W_OK | os.X_OK) else errno.EACCES
    code = code if around.is_dir() else errno.ENOTDIR
    if code:
        raise OSError(code, os.strerror(code), os.fspath(around))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives a new folder to write into, which takes its place at `path` when the context ends.

    Raises `BundleError` where something stands there that is no bundle. Where writing fails,
    what stood there stays.
    """
    target = Path(os.path.realpath(path))
    _demand_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Hidden and without a manifest until the end, it is no bundle to anyone who looks.
    partial = Path(
        tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name[:64]}.", suffix=".partial")
    )
    try:
        partial.chmod(0o777 & ~_mask())
        yield partial
        _synchronize(partial)
        _demand_replaceable(target)
        _take(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _demand_replaceable(target: Path) -> None:
    """Raises `BundleError` where `target` holds anything but a bundle or nothing."""
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
        return
    try:
        manifest = decoded(read_manifest(target))
    except BundleError as error:
        raise BundleError(f"an export replaces bundles only: {error}") from None
    known = {MANIFEST, *(file.name for file in manifest.files())}
    for found in sorted(each.name for each in target.iterdir()):
        if found not in known:
            raise BundleError(f"an export replaces bundles only: {target} holds {found} besides")


def _take(partial: Path, target: Path) -> None:
    """Puts `partial` at `target`; what stood there stands at `partial` afterwards."""
    if not target.exists():
        os.rename(partial, target)
    elif not _exchanged(partial, target):
        # Without an exchange there is a moment of no bundle, but never one of half a bundle.
        old = Path(f"{partial}.old")
        os.rename(target, old)
        os.rename(partial, target)
        shutil.rmtree(old, ignore_errors=True)
    _synchronize_folder(target.parent)


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


def _synchronize(folder: Path) -> None:
    """Sees that the bytes are on the disk: a name may not outlive a crash that its bytes do not."""
    for each in folder.iterdir():
        descriptor = os.open(each, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    _synchronize_folder(folder)


def _synchronize_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mask() -> int:
    # The process's mask can only be read by setting it.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
