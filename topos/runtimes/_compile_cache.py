"""Compiled modules kept on disk between processes: one checksummed file an entry."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from topos.errors import ArgumentError

VARIABLE: Final = "TOPOS_COMPILE_CACHE"
SUFFIX: Final = ".topos"
UNFINISHED: Final = ".part"
LONGEST_WRITE: Final = 3600.0
# The first bytes of every entry; another layout takes another number.
MAGIC: Final = b"topos compiled 1\n"
DIGEST_SIZE: Final = 32
LARGEST_TOTAL: Final = 2**30


class CompileCache:
    """A folder of compiled modules by key, safe to share between threads and processes.

    An entry is written beside its place and renamed, so no reader sees half of one. What cannot
    be read, is not what was written, or belongs to another user is a miss; what cannot be written
    is not kept. Entries used longest ago go once all take more than `largest_total` bytes.
    """

    def __init__(self, folder: Path, largest_total: int = LARGEST_TOTAL) -> None:
        self.folder, self.largest_total = folder, largest_total

    def get(self, key: str) -> bytes | None:
        """Returns what was put for `key`, or None."""
        path = self.folder / (key + SUFFIX)
        # A path may hold a zero, which raises no OSError.
        try:
            payload = unsealed(_read_own(path, self.largest_total), key)
        except (OSError, ValueError):
            return None
        # The time of use decides which entries go; a folder that is read-only still serves.
        with suppress(OSError):
            os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keeps `payload` for `key` where the folder can be written."""
        data = sealed(payload, key)
        if len(data) > self.largest_total:
            return
        with suppress(OSError, ValueError):
            self._write(self.folder / (key + SUFFIX), data)
            self._prune()

    def _write(self, path: Path, data: bytes) -> None:
        # Whoever may write here chooses machine code that this process runs.
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def _prune(self) -> None:
        total = 0
        for status, path in sorted(self._found("*" + SUFFIX), key=_used, reverse=True):
            total += status.st_size
            if total > self.largest_total:
                path.unlink(missing_ok=True)
        # A process that was killed while it wrote leaves its part.
        for status, path in self._found(".*" + UNFINISHED):
            if status.st_mtime < time.time() - LONGEST_WRITE:
                path.unlink(missing_ok=True)

    def _found(self, pattern: str) -> Iterable[tuple[os.stat_result, Path]]:
        for path in self.folder.glob(pattern):
            # Another process may prune at the same time.
            with suppress(FileNotFoundError):
                yield path.lstat(), path


def cache_at(folder: Path | str | None) -> CompileCache | None:
    """Returns the cache in `folder`, by default in the one that TOPOS_COMPILE_CACHE names.

    The folder is made where it is missing. Where it cannot be, or takes nothing new, that is
    warned of once: everything is compiled as if there were no cache.
    """
    chosen = os.environ.get(VARIABLE) if folder is None else folder
    if not isinstance(chosen, str | os.PathLike | None):
        raise ArgumentError(f"cache needs the path of a folder, got {chosen!r}")
    if not chosen:
        return None
    path = Path(chosen)
    if fault := _fault(path):
        _warn(f"the compile cache {str(path)!r} cannot be a folder, and keeps nothing: {fault}")
    elif not os.access(path, os.W_OK | os.X_OK):
        _warn(f"the compile cache {str(path)!r} cannot be written, and keeps nothing new")
    return CompileCache(path)


def demand_folder(path: Path) -> None:
    """Makes the folder of a cache; raises `ArgumentError` where it cannot be one."""
    if fault := _fault(path):
        raise ArgumentError(f"cache needs a folder, and {str(path)!r} cannot be one: {fault}")


def _fault(path: Path) -> str:
    """Returns why there is no folder at `path`, or nothing where there is one now."""
    try:
        # Whoever may write here chooses machine code that this process runs.
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:
        return str(error)
    return ""


@cache
def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)


def entry_key(runtime: str, module: bytes, settings: Mapping[str, Any], versions: str) -> str:
    """Returns the name of an entry: a digest of all that decides what compiling gives.

    `settings` are options, numerics and device by name, `versions` those of the runtime's
    packages; the processor and its instructions are added here.
    """
    digest = hashlib.sha256()
    parts = [runtime, versions, processor(), *(f"{k}={v!r}" for k, v in sorted(settings.items()))]
    for part in (*(each.encode() for each in parts), module):
        # The length keeps a part that ends early from running into the next.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def processor_digest() -> str:
    """Returns a short digest of `processor()`."""
    return hashlib.sha256(processor().encode()).hexdigest()[:16]


def processor_label() -> str:
    """Returns the name of this machine's processor, and a digest that tells its instructions."""
    named = [
        line.partition(":")[2] for line in processor().splitlines() if line[:10] == "model name"
    ]
    return " ".join([*(named or [platform.machine()]), processor_digest()]).strip()


@cache
def processor() -> str:
    """Returns what tells this machine's processors apart: its name and its instructions."""
    described = [platform.system(), platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(errors="replace").split("\n\n")[0].splitlines()
        told = ("model name", "flags", "Features", "CPU implementer", "CPU part")
        described += [line for line in lines if line.startswith(told)]
    return "\n".join(described)


def sealed(payload: bytes, key: str) -> bytes:
    """Returns `payload` with a checksum over it and `key` in front."""
    return MAGIC + _checksum(payload, key) + payload


def unsealed(data: bytes, key: str) -> bytes | None:
    """Returns what was sealed under `key`, or None where `data` is anything else."""
    start = len(MAGIC) + DIGEST_SIZE
    if not data.startswith(MAGIC):
        return None
    payload = data[start:]
    return payload if data[len(MAGIC) : start] == _checksum(payload, key) else None


def _read_own(path: Path, largest: int) -> bytes:
    """Returns the bytes of a file of this user or of the system's.

    Raises `OSError` for one of another user, for a link, a pipe or a device, which might never
    end, and for one of more than `largest` bytes.
    """
    with open(path, "rb", opener=_opened) as file:
        status = os.fstat(file.fileno())
        if hasattr(os, "getuid") and status.st_uid not in (0, os.getuid()):
            raise PermissionError(f"{path} belongs to another user")
        if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
            raise OSError(f"{path} is no regular file of at most {largest} bytes")
        return file.read(status.st_size)


def _opened(path: str, flags: int) -> int:
    # A pipe would otherwise be opened only once somebody writes to it; not every system has both.
    for name in ("O_NONBLOCK", "O_NOFOLLOW"):
        flags |= getattr(os, name, 0)
    return os.open(path, flags)


def _used(entry: tuple[os.stat_result, Path]) -> int:
    return entry[0].st_mtime_ns


def _checksum(payload: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + payload).digest()
