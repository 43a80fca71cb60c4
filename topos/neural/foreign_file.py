"""Foreign files: what somebody gave for a checkpoint, and how to get at what is in it."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

# How long the part is that tells what a file is.
HEAD: Final = 64
# How many bytes tell the length of a header, and the longest that the format allows.
LENGTH: Final = 8
LONGEST: Final = 100_000_000
SHOWN: Final = 3
TORCH: Final = "in PyTorch, safetensors.torch.save_file writes its tensors as a checkpoint"
# What reading JSON of an unknown form raises.
FAULTS: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
KINDS: Final = (
    (b"version https://git-lfs", "a Git LFS pointer: run git lfs pull where it was cloned"),
    (b"PK\x03\x04", f"a zip archive, as torch.save and numpy.savez write: {TORCH}"),
    (b"\x80", f"a pickle, as old versions of torch.save write: {TORCH}"),
    (b"GGUF", "a GGUF file: most models have safetensors files at their source, too"),
    (b"\x89HDF", "an HDF5 file: write its arrays by safetensors.numpy.save_file"),
    (b"\x93NUMPY", "one array of numpy: write it by safetensors.numpy.save_file"),
    (b"\x1f\x8b", "compressed by gzip: unpack it"),
    (b"<", "a web page or XML: the download got another thing than the file"),
)


def demand_regular(path: str) -> int:
    """Returns the length of a regular file; raises `OSError` for a pipe, which may never end."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "a checkpoint needs a regular file, got another thing", path)
    return found.st_size


def described(path: str) -> str | None:
    """Returns what a file is and what to do, or None where that cannot be told."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    # What begins with the length of a header, and then the header, was a checkpoint.
    if head[4:9] == b"\0\0\0\0{":
        return None
    return recognized(path) or (_json(path) if _start(head).startswith(b"{") else None)


def recognized(path: str) -> str | None:
    """Returns what a file is by how it starts, or None for JSON and what nobody knows."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    if not head:
        return "empty: download or copy it again"
    return next((what for magic, what in KINDS if _start(head).startswith(magic)), None)


def few(names: Iterable[str]) -> str:
    """Returns the first of some names, for an error to show."""
    own = list(names)
    return ", ".join(own[:SHOWN]) + (", ..." if len(own) > SHOWN else "")


def _start(head: bytes) -> bytes:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def _json(path: str) -> str:
    """Returns what a file of JSON is: an index under another name, most often."""
    try:
        shards = sorted({str(shard) for shard in _weight_map(path).values()})
    except FAULTS:
        shards = []
    if not shards:
        return "JSON, which holds no tensors: the checkpoint lies beside it most often"
    files = f"{len(shards)} file{'s' * (len(shards) > 1)} ({few(shards)})"
    return f"the index of a checkpoint in {files}: give it a name that ends with .json"


def _weight_map(path: str) -> dict[str, Any]:
    """Returns the file of each tensor, as an index of Hugging Face has them."""
    mapping: dict[str, Any] = json.loads(Path(path).read_bytes())["weight_map"]
    return mapping


def miscounted(path: str) -> str | None:
    """Returns by how many bytes a checkpoint is cut or too long, or None where it is neither."""
    size, again = os.path.getsize(path), "copy or download it again"
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(LENGTH), "little")
        if size < LENGTH or (size < LENGTH + length and length <= LONGEST):
            needs = LENGTH + length if size >= LENGTH else LENGTH
            return f"it has {size} bytes, and its header alone needs {needs}: {again}"
        header = file.read(length) if length <= LONGEST else b""
    try:
        entries = json.loads(header)
        entries.pop("__metadata__", None)
        end = max((int(entry["data_offsets"][1]) for entry in entries.values()), default=0)
    except FAULTS:
        return None
    described = LENGTH + length + end
    if size == described:
        return None
    return f"it has {size} bytes, and its header describes {described}: {again}"
