"""Replacement: a folder written beside its place, which then takes it whole."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from topos.bundle.folder import read_manifest, unlisted
from topos.bundle.manifest import AGAIN, MANIFEST, decoded
from topos.errors import BundleError

# After an hour without a new file, nobody is writing any more.
LONGEST_SECONDS: Final = 3600.0


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
    prefix = f"{prefix_of(target)}{os.getpid()}-{_machine()}."
    partial = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix, suffix=".partial"))
    try:
        partial.chmod(0o777 & ~_mask())
        yield partial
        _synchronize(partial)
        _demand_replaceable(target)
        swap(partial, target)
        _synchronize_folder(target.parent)
        _clear(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _demand_replaceable(target: Path) -> None:
    """Raises `BundleError` where `target` holds anything but a bundle or nothing."""
    if not os.path.lexists(target):
        return
    if _is_working_folder(target):
        raise BundleError(
            f"an export replaces a folder whole, and {target} is the working folder: name it from"
            " another one"
        )
    if target.is_dir() and not any(target.iterdir()):
        return
    try:
        manifest = decoded(read_manifest(target))
    except BundleError as error:
        reason = str(error).removesuffix(AGAIN)
        raise BundleError(f"an export replaces bundles only: {reason}") from None
    for name in unlisted(target, manifest):
        raise BundleError(f"an export replaces bundles only: {target} holds {name} besides")
    for each in sorted(target.iterdir()):
        if not stat.S_ISREG(each.lstat().st_mode):
            raise BundleError(
                f"an export replaces bundles only: {target} holds {each.name}, which is no file"
            )


def _is_working_folder(target: Path) -> bool:
    with suppress(OSError):
        return target.samefile(os.curdir)
    return False


def _clear(target: Path) -> None:
    """Removes what killed exports to `target` left beside it."""
    for path, name in remains_of(target):
        gone = name["machine"] == _machine() and not _runs(int(name["process"]))
        if gone or _age_seconds(path) > LONGEST_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _age_seconds(folder: Path) -> float:
    """Returns for how long a folder was neither filled nor renamed, none where it is no more."""
    with suppress(OSError):
        found = folder.stat()
        return time.time() - max(found.st_mtime, found.st_ctime)
    return 0.0


def _runs(process: int) -> bool:
    """Returns whether a process of this machine may still be there."""
    if sys.platform == "win32":
        # There a signal of nothing would end it.
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _machine() -> str:
    """Returns a word for this machine: others may write to the same place."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


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
