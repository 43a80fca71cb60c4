"""A bundle's folder: where it stands, and files read by plain names, held against their digests."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

from topos.bundle.manifest import AGAIN, MANIFEST, File, Manifest
from topos.errors import ArgumentError, BundleError

CHUNK: Final = 1 << 20
# How a pointer begins that Git leaves for a large file: https://git-lfs.com, its specification.
POINTER: Final = b"version https://git-lfs"
MOST_MANIFEST: Final = 1 << 24
# A link could lead out of the folder, and a pipe could keep its reader waiting for ever.
FLAGS: Final = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def damaged(folder: Path, what: str) -> BundleError:
    """Returns the error of a folder that is not what an export left there."""
    return BundleError(f"{folder} {what}{AGAIN}")


class VerifiedFile:
    """An open file whose bytes are summed up as they are read, for `close` to judge."""

    def __init__(self, folder: Path, entry: File, file: FileIO) -> None:
        self._folder, self._entry, self._file = folder, entry, file
        self._digest, self.left = hashlib.sha256(), entry.bytes
        length = os.fstat(file.fileno()).st_size
        if length != entry.bytes:
            if file.read(len(POINTER)) == POINTER:
                raise BundleError(
                    f"{folder} has a Git LFS pointer in the place of {entry.name}: run git lfs pull"
                )
            raise damaged(folder, f"needs a {entry.name} of {entry.bytes} bytes, got {length}")

    def take(self, target: memoryview) -> None:
        """Fills `target`, contiguous bytes, with the next bytes of the file."""
        position = 0
        while position < len(target):
            # A read may stop early, and one of nothing is the end.
            count = self._file.readinto(target[position : position + CHUNK])
            if not count:
                raise damaged(self._folder, f"had {self._entry.name} cut while it was read")
            self._digest.update(target[position : position + count])
            position += count
        self.left -= position

    def bytes(self, count: int) -> bytearray:
        """Returns the next `count` bytes."""
        if count > self.left:
            raise damaged(self._folder, f"has a {self._entry.name} that ends early")
        data = bytearray(count)
        self.take(memoryview(data))
        return data

    def finish(self) -> None:
        """Reads the rest; raises `BundleError` where the digest is not that of the entry."""
        chunk = memoryview(bytearray(min(CHUNK, self.left)))
        while self.left:
            self.take(chunk[: self.left])
        found, wanted = self._digest.hexdigest(), self._entry.sha256
        if found != wanted:
            raise damaged(
                self._folder,
                f"has a {self._entry.name} whose digest is another: {found[:12]} where the manifest"
                f" has {wanted[:12]}",
            )


@contextmanager
def opened(folder: Path, entry: File) -> Iterator[VerifiedFile]:
    """Opens a regular file in the folder itself; every byte of it is verified at the end.

    Raises `BundleError` where it is missing, no regular file, or not what its entry says.
    """
    with _regular(folder, entry.name) as file:
        verified = VerifiedFile(folder, entry, file)
        yield verified
        verified.finish()


def verify(folder: Path, entry: File) -> None:
    """Raises `BundleError` where a file has not the length and digest of its entry."""
    with opened(folder, entry):
        pass


def read(folder: Path, entry: File) -> bytes:
    """Returns the bytes of a file, which have the length and digest of its entry."""
    with opened(folder, entry) as file:
        data = file.bytes(entry.bytes)
    return bytes(data)


def read_manifest(folder: Path) -> bytes:
    """Returns the bytes of the manifest, the last file that an export writes."""
    if not os.path.isdir(folder):
        if not os.path.lexists(folder):
            raise BundleError(f"a bundle is a folder, and there is no {folder}")
        raise BundleError(f"a bundle is a folder, and {folder} is none{_instead(folder)}")
    if not os.path.lexists(folder / MANIFEST):
        raise BundleError(f"{folder} has no {MANIFEST}: it is no bundle, or still being written")
    with _regular(folder, MANIFEST) as file:
        length = os.fstat(file.fileno()).st_size
        if length > MOST_MANIFEST:
            raise damaged(folder, f"has a {MANIFEST} of {length} bytes, too many for one")
        return file.read(length)


def _instead(path: Path) -> str:
    """Returns what stands where a folder was looked for."""
    if os.path.lexists(path.parent / MANIFEST):
        return f", but a file in the bundle {path.parent}"
    return ", but a file"


def unlisted(folder: Path, manifest: Manifest) -> list[str]:
    """Returns the names in a folder that are neither its manifest nor in that, in order."""
    known = {MANIFEST, *(file.name for file in manifest.files())}
    return sorted(name for name in os.listdir(folder) if name not in known)


def entry_of(folder: Path, name: str) -> File:
    """Returns the entry of a file that was just written."""
    data = folder / name
    with open(data, "rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return File(name, data.stat().st_size, digest.hexdigest())


@contextmanager
def _regular(folder: Path, name: str) -> Iterator[FileIO]:
    """Opens a regular file; what the system has against it, now or later, is a `BundleError`."""
    try:
        with _opened_file(folder, name) as file:
            yield file
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BundleError(f"{folder} holds {name} as a link, which is not followed") from None
        reason = f"needs {name}: {error.strerror}"
        if error.errno == errno.ENOENT:
            raise damaged(folder, reason) from error
        raise BundleError(f"{folder} {reason}") from error


def _opened_file(folder: Path, name: str) -> FileIO:
    descriptor = os.open(folder / name, os.O_RDONLY | FLAGS)
    # A pipe may never end, and a folder cannot be read.
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise damaged(folder, f"needs {name} as a regular file")
    # Unbuffered, what is read goes where it belongs without a stop on the way.
    return os.fdopen(descriptor, "rb", buffering=0)


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
