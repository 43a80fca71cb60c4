"""Arrays in files and frames: how arguments and results travel in a form that numpy can store.

An archive is an .npz file with `arg0`, `arg1`, ... or `result0`, `result1`, ... An element that
numpy does not know, such as bfloat16, is stored as unsigned integers of its size: its bits.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from topos.errors import ArgumentError
from topos.runtimes._signature import ArrayType

Array = npt.NDArray[Any]

_BITS: Final[dict[int, np.dtype[Any]]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
}


def stored_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype that holds `dtype` in an archive: itself where numpy knows it.

    Raises `ArgumentError` for what no tensor has, such as text, times and structures.
    """
    if dtype.isbuiltin == 1 and dtype.kind in "biufc":
        return dtype
    # An element of another package is a 2. Another byte order, a structure and a text are 0.
    if dtype.isbuiltin != 2:
        raise ArgumentError(f"an array needs the elements of a tensor, got {dtype.str}")
    return _BITS[dtype.itemsize]


def stored(array: Array) -> Array:
    """Returns `array`, or a view of its bits where numpy does not know its dtype."""
    return array.view(stored_dtype(array.dtype))


def restored(array: Array, dtype: np.dtype[Any]) -> Array:
    """Returns what `stored` made as an array of `dtype`; any other array comes back as it is."""
    bits = dtype.isbuiltin != 1 and array.dtype.itemsize == dtype.itemsize
    # numpy's own writer labels an element it does not know as void.
    return array.view(dtype) if bits and array.dtype.kind in "uV" else array


def _demand_fitting(
    path: str | os.PathLike[str], name: str, array: Array, dtype: np.dtype[Any]
) -> None:
    """Refuses elements of a `dtype` that numpy does not know with bits that none of them has."""
    if dtype.isbuiltin == 1 or array.dtype != dtype:
        return
    integer = "int" in dtype.name
    limits: Any = (ml_dtypes.iinfo if integer else ml_dtypes.finfo)(dtype)
    width = limits.bits
    patterns = array.view(_BITS[dtype.itemsize])
    highest = int(patterns.max(initial=0))
    if highest >> width:
        needs = f"elements of {dtype.name} need bits below {1 << width}"
        raise ArgumentError(f"{path} holds {name}, whose {needs}, got {highest}")


def save(path: str | os.PathLike[str], arrays: Sequence[Array], prefix: str) -> None:
    """Writes `arrays` as `prefix0`, `prefix1`, ...: the whole archive at once, or nothing.

    A link is followed, and a file that exists keeps its mode. Raises `OSError` told of `path`
    where the folder takes no file, or where `path` is a folder, a device or a pipe.
    """
    named = {f"{prefix}{position}": stored(array) for position, array in enumerate(arrays)}
    target = Path(os.path.realpath(path))
    try:
        mode = _mode(target)
        # The name is short, for the target's own may be as long as the folder takes.
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as file:
            _write(file, target, mode, named)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _write(file: Any, target: Path, mode: int, named: dict[str, Array]) -> None:
    try:
        np.savez(file, allow_pickle=False, **named)
        file.close()
        Path(file.name).chmod(mode)
        os.replace(file.name, target)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """Returns the mode that a file at `target` has or would get; refuses what is no file."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return 0o666 & ~_mask()
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "results need a regular file, got another thing of that name")
    return stat.S_IMODE(mode)


def load(path: str | os.PathLike[str], types: Sequence[ArrayType], prefix: str) -> list[Array]:
    """Returns the arrays `prefix0`, `prefix1`, ... of an archive, one for each of `types`.

    Raises `ArgumentError` where the file is no archive, is damaged or holds other names;
    shapes and dtypes are the executable's to judge. A file that cannot be opened raises `OSError`.
    """
    wanted = [f"{prefix}{position}" for position in range(len(types))]
    contents = _contents(path)
    if set(contents) != set(wanted):
        held, needed = (", ".join(names) or "nothing" for names in (sorted(contents), wanted))
        named = f"; numpy.savez({str(path)!r}, {prefix}0=..., {prefix}1=...) names them"
        hint = named if "arr_0" in contents else ""
        raise ArgumentError(f"{path} must hold {needed}, and holds {held}{hint}")
    arrays = [
        restored(contents[name], wanted_type.dtype)
        for name, wanted_type in zip(wanted, types, strict=True)
    ]
    for name, array, wanted_type in zip(wanted, arrays, types, strict=True):
        _demand_fitting(path, name, array, wanted_type.dtype)
    return arrays


def _contents(path: str | os.PathLike[str]) -> dict[str, Array]:
    with open(path, "rb") as file:
        # A damaged file makes zipfile, zlib and numpy raise nearly anything.
        try:
            archive = np.load(file, allow_pickle=False)
            names = list(archive.files)
        except Exception as error:
            # An .npy file loads as an array, which has no `files`.
            raise ArgumentError(f"{path} is no .npz archive of plain arrays") from error
        return {name: _member(path, archive, name) for name in names}


def _member(path: str | os.PathLike[str], archive: Any, name: str) -> Array:
    try:
        array = archive[name]
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ArgumentError(f"{path} holds {name} that cannot be read: {reason}") from error
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"{path} holds {name}, which is no array")
    return array


def _mask() -> int:
    # The process's mask can only be read by setting it.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
