"""Safetensors files: named tensors and text, read with their faults told, written whole or not."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from topos import Element, Tensor, TensorType, bf16, bool_, f16, f32, f64, i32, i64
from topos.errors import FeedError, UnavailableError

__all__ = ["TensorFile", "opened", "write_tensors"]

# The names are those of the format: https://huggingface.co/docs/safetensors, "Format".
ELEMENTS: Final[Mapping[str, Element]] = {
    "F64": f64,
    "F32": f32,
    "F16": f16,
    "BF16": bf16,
    "I64": i64,
    "I32": i32,
    "BOOL": bool_,
}


class TensorFile:
    """An open safetensors file: its text, its tensors' types, and each tensor where it is asked."""

    def __init__(self, path: str | os.PathLike[str], handle: Any) -> None:
        self._path, self._handle = path, handle
        self.metadata: Mapping[str, str] = dict(handle.metadata() or {})
        self.names: tuple[str, ...] = tuple(handle.keys())

    def type(self, name: str) -> TensorType | str:
        """Returns the type of a tensor, or how the file calls it where no element is that."""
        header = self._handle.get_slice(name)
        shape, code = tuple(header.get_shape()), header.get_dtype()
        if code not in ELEMENTS:
            return f"{code.lower()}[{', '.join(map(str, shape))}]"
        return TensorType(shape, ELEMENTS[code])

    def tensor(self, name: str) -> Tensor:
        """Returns a tensor of the file; raises `FeedError` where none of our elements holds it."""
        type = self.type(name)
        if isinstance(type, str):
            raise FeedError(f"{self._path} holds {name!r} as {type}, which no element is")
        # The extension behind bf16 has to be there before numpy can be asked for it.
        assert type.element.dtype
        return Tensor(self._handle.get_tensor(name), type.element)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[TensorFile]:
    """Opens a file to read from in this context.

    Raises `FeedError` where it is damaged or no safetensors file, `OSError` where it cannot be
    opened, `UnavailableError` without the package.
    """
    package = _package("safetensors")
    target = os.fspath(path)
    if not stat.S_ISREG(os.stat(target).st_mode):
        raise OSError(errno.EINVAL, "a checkpoint needs a regular file, got another thing", target)
    try:
        with package.safe_open(target, framework="numpy") as handle:
            yield TensorFile(path, handle)
    except package.SafetensorError as error:
        raise FeedError(f"{target} cannot be read as a safetensors file: {error}") from error


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    """Writes a file of `tensors` and `metadata` at once: a crash leaves what was there before.

    A link is followed, and a file that exists keeps its mode. Raises `OSError` where the folder
    takes no file or `path` is none, `FeedError` where the format has no place for an element.
    """
    package = _package("safetensors.numpy")
    arrays = {name: _contiguous(tensor) for name, tensor in tensors.items()}
    target = Path(os.path.realpath(path))
    try:
        mode = _mode(target)
        # The name is short, for the target's own may be as long as the folder takes.
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as file:
            fresh = Path(file.name)
        try:
            package.save_file(arrays, fresh, metadata=dict(metadata) or None)
            _settle(fresh, mode)
            os.replace(fresh, target)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    except _package("safetensors").SafetensorError as error:
        raise FeedError(f"{os.fspath(path)} cannot be written: {error}") from error


def _settle(path: Path, mode: int) -> None:
    """Gives the file its mode, and waits until its bytes are on the disk."""
    path.chmod(mode)
    # Renamed before its bytes are there, an empty file could take the old one's place.
    with path.open("rb") as file:
        os.fsync(file.fileno())


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


def _contiguous(tensor: Tensor) -> Any:
    array = tensor.numpy()
    return array if array.flags.c_contiguous else array.copy()


def _package(module: str) -> Any:
    """Returns a module of the optional package, for only some programs keep checkpoints."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UnavailableError(
            "checkpoints need safetensors: pip install 'topos-compiler[checkpoints]'"
        ) from error
