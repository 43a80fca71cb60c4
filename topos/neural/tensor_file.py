"""Safetensors files: named tensors and text, read with their faults told, written whole or not."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from topos import Element, Tensor, TensorType
from topos.errors import FeedError, UnavailableError
from topos.neural.foreign_file import demand_regular, described, miscounted
from topos.neural.tensor_codes import CODES, element_of, rank_of

TEXT: Final = "__metadata__"
ALIGNMENT: Final = 8
# How many bytes tell the length of a header.
LENGTH: Final = 8
LARGEST_PART: Final = 1 << 24
# What numpy's arrays have at most.
MOST_AXES: Final = 64


class TensorFile:
    """An open safetensors file: its text, its tensors' types, and each tensor where it is asked.

    A tensor is read straight into the memory that it stays in. Nothing maps the file, so that a
    later change of it changes no tensor, and its end is an error and not that of the process.
    """

    def __init__(self, path: str, file: Any) -> None:
        self._path, self._file = path, file
        length = int.from_bytes(file.read(LENGTH), "little")
        self._entries: dict[str, Any] = json.loads(file.read(length))
        self._start = LENGTH + length
        self.metadata: Mapping[str, str] = self._entries.pop(TEXT, None) or {}
        self.names: tuple[str, ...] = tuple(self._entries)

    def type(self, name: str, wanted: Element | None = None) -> TensorType | str:
        """Returns the type of a tensor, or how the file calls it where no element is that.

        Its element is `wanted` where that is stored so: one of the user's own, say.
        """
        entry = self._entries[name]
        shape, code = tuple(entry["shape"]), entry["dtype"]
        element = element_of(code, wanted)
        if element is None:
            return f"{code.lower()}[{', '.join(map(str, shape))}]"
        return TensorType(shape, element)

    def tensor(self, name: str, wanted: Element | None = None) -> Tensor:
        """Returns a tensor of the file, of the type that `type` tells; its bytes are copied once.

        Raises `FeedError` where no element is that, and where the file got shorter.
        """
        type = self.type(name, wanted)
        if isinstance(type, str):
            raise FeedError(f"{self._path} holds {name!r} as {type}, which no element is")
        if len(type.shape) > MOST_AXES:
            raise FeedError(f"{self._path} holds {name!r} of {len(type.shape)} axes, too many")
        start, end = self._entries[name]["data_offsets"]
        tensor = Tensor.filled(type, partial(self._read, self._start + start))
        array = tensor.numpy()
        assert array.nbytes == end - start
        # Any other byte is undefined behaviour to a kernel.
        if array.dtype == bool and array.size and (most := array.view("u1").max()) > 1:
            raise FeedError(f"{self._path} holds the byte {most} in {name!r}, a bool is 0 or 1")
        return tensor

    def _read(self, start: int, target: memoryview) -> None:
        """Fills `target` with the bytes from `start` on; the system may return fewer at once."""
        self._file.seek(start)
        while target:
            count = self._file.readinto(target)
            if not count:
                raise FeedError(f"{self._path} got shorter while it was read: load it again")
            target = target[count:]


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[TensorFile]:
    """Opens a file to read from in this context.

    Raises `FeedError` where it is damaged or no safetensors file, `OSError` where it cannot be
    opened, `UnavailableError` without the package.
    """
    package = _safetensors()
    target = os.fspath(path)
    demand_regular(target)
    # A buffer would hold every byte twice.
    with open(target, "rb", buffering=0) as file:
        try:
            # The package knows every fault of a header.
            with package.safe_open(target, framework="numpy"):
                pass
        except package.SafetensorError as error:
            what = described(target)
            if what is not None:
                raise FeedError(f"{target} is no safetensors file but {what}") from None
            reason = miscounted(target) or f"its header is damaged: {_own(error)}"
            raise FeedError(f"{target} cannot be read as a safetensors file: {reason}") from error
        yield TensorFile(target, file)


def _own(error: Exception) -> str:
    """Returns what the package says, without the words that every such error of it starts with."""
    return str(error).removeprefix("Error while deserializing header: ")


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    """Writes a file of `tensors` and `metadata` at once: a crash leaves what was there before.

    Equal contents make equal files. A link is followed, and a file that exists keeps its mode.
    Raises `FeedError` where the format has no place for a name or an element, `OSError` where the
    folder takes no file or `path` is none.
    """
    ordered = sorted(tensors.items(), key=lambda each: (_rank(*each), each[0]))
    header = _header(ordered, metadata)
    target = Path(os.path.realpath(path))
    try:
        mode = _mode(target)
        # The name is short, for the target's own may be as long as the folder takes.
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as file:
            _write(file, target, mode, [header, *(tensor for _, tensor in ordered)])
    except OSError as error:
        absent = error.errno == errno.ENOENT and not target.parent.is_dir()
        reason = f"there is no folder {target.parent}" if absent else error.strerror
        raise OSError(error.errno, reason, os.fspath(path)) from error


def _rank(name: str, tensor: Tensor) -> int:
    """Returns the place of a tensor's element in a file: large ones first keep all aligned."""
    rank = rank_of(tensor.element)
    if rank is None:
        needs = f"an element of the format, got {tensor.element} {name!r}"
        raise FeedError(f"a checkpoint needs {needs}")
    return rank


def _header(ordered: Sequence[tuple[str, Tensor]], metadata: Mapping[str, str]) -> bytes:
    entries: dict[str, Any] = {TEXT: dict(sorted(metadata.items()))} if metadata else {}
    end = 0
    for name, tensor in ordered:
        start, end = end, end + tensor.numpy().nbytes
        if name == TEXT:
            raise FeedError(
                f"a checkpoint keeps its text under {TEXT!r}, got a tensor of that name"
            )
        entries[name] = {
            "dtype": CODES[_rank(name, tensor)].name,
            "shape": tensor.shape,
            "data_offsets": [start, end],
        }
    try:
        text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise FeedError(
            f"a checkpoint needs names and text of UTF-8, got {error.object!r}"
        ) from None
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(ALIGNMENT, "little") + text


def _write(file: Any, target: Path, mode: int, parts: Iterable[bytes | Tensor]) -> None:
    try:
        for part in parts:
            for each in _parts(part) if isinstance(part, Tensor) else (part,):
                file.write(each)
        file.flush()
        # Renamed before its bytes are on the disk, an empty file could outlive a crash.
        os.fsync(file.fileno())
        file.close()
        Path(file.name).chmod(mode)
        os.replace(file.name, target)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def _parts(tensor: Tensor) -> Iterator[memoryview]:
    """Yields the payload in row-major order, as the format has it: little end first."""
    array = tensor.numpy()
    if sys.byteorder == "little" and array.flags.c_contiguous:
        yield _bytes(array)
        return
    # What has to be turned is copied a part at a time.
    rows = array if array.ndim else array.reshape(1)
    step = max(1, len(rows) * LARGEST_PART // max(1, rows.nbytes))
    for start in range(0, len(rows), step):
        part = rows[start : start + step].copy(order="C")
        yield _bytes(part if sys.byteorder == "little" else part.byteswap())


def _bytes(array: Any) -> memoryview:
    # numpy has no buffer of the elements that it does not know, but of their bytes.
    data: memoryview = array.reshape(-1).view("u1").data
    return data


def _mode(target: Path) -> int:
    """Returns the mode that a file at `target` has or would get; refuses what is no file."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        # The process's mask can only be read by setting it.
        mask = os.umask(0o022)
        os.umask(mask)
        return 0o666 & ~mask
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "a checkpoint needs a regular file, got another thing")
    return stat.S_IMODE(mode)


def _safetensors() -> Any:
    """Returns the optional package, which only programs that read checkpoints need."""
    try:
        return import_module("safetensors")
    except ImportError as error:
        raise UnavailableError(
            "reading a checkpoint needs safetensors: pip install 'topos-compiler[checkpoints]'"
        ) from error
