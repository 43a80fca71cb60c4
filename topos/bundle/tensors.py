"""Tensors of a bundle: safetensors files read once, into aligned arrays that nobody writes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from topos.bundle.folder import VerifiedFile, damaged, opened
from topos.bundle.manifest import File, Port
from topos.payload.storage import ALIGNMENT

Array = npt.NDArray[Any]

MOST_HEADER: Final = 1 << 27
# The format's names of elements: https://huggingface.co/docs/safetensors.
CODES: Final[Mapping[str, str]] = {
    **{"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16"},
    **{"i64": "I64", "i32": "I32", "i16": "I16", "i8": "I8"},
    **{"ui64": "U64", "ui32": "U32", "ui16": "U16", "ui8": "U8", "bool": "BOOL"},
}


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    """What the header says of a tensor: where its bytes lie after the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def read_tensors(folder: Path, file: File, wanted: Iterable[Port]) -> dict[str, Array]:
    """Returns the tensors of a safetensors file by name: just those of `wanted`, in file order.

    The arrays are read-only, contiguous, and each begins at a multiple of `ALIGNMENT` bytes. No
    byte is read twice, and none is kept twice. Raises `BundleError` where the file is not what
    its entry and `wanted` say.
    """
    with opened(folder, file) as content:
        entries = _header(folder, file, content)
        _demand_wanted(folder, file, entries, content.left, wanted)
        block, arrays = _places(wanted)
        for name in entries:
            # numpy has no buffer of the elements that it does not know, but of their bytes.
            content.take(arrays[name].reshape(-1).view(np.uint8).data)
    # A runtime takes over what nobody can write to, neither here nor through what it views.
    for array in (block, *arrays.values()):
        array.flags.writeable = False
    return {name: arrays[name] for name in entries}


def demand_tensors(folder: Path, file: File, wanted: Iterable[Port]) -> None:
    """Raises `BundleError` where a file is not what its entry and `wanted` say."""
    with opened(folder, file) as content:
        entries = _header(folder, file, content)
        _demand_wanted(folder, file, entries, content.left, wanted)


def _header(folder: Path, file: File, content: VerifiedFile) -> dict[str, Entry]:
    """Returns the entries of a header, in the order of their bytes."""
    length = int.from_bytes(content.bytes(8), "little")
    if length > min(MOST_HEADER, content.left):
        raise damaged(folder, f"has a {file.name} whose header of {length} bytes is no header")
    try:
        raw = msgspec.json.decode(content.bytes(length), type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        entries = {name: msgspec.json.decode(own, type=Entry) for name, own in raw.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise damaged(folder, f"has a {file.name} whose header is none: {error}") from None
    return dict(sorted(entries.items(), key=lambda each: each[1].data_offsets))


def _demand_wanted(
    folder: Path, file: File, entries: Mapping[str, Entry], length: int, wanted: Iterable[Port]
) -> None:
    """Raises `BundleError` where the header differs from `wanted`, or leaves bytes of `length`."""
    ports = {port.name: port for port in wanted}
    for name in (*ports, *entries):
        if name not in entries or name not in ports:
            kind = "no" if name in ports else "an unexpected"
            raise damaged(folder, f"has a {file.name} with {kind} {name!r}")
    end = 0
    for name, entry in entries.items():
        port, start = ports[name], end
        if (entry.dtype, entry.shape) != (CODES[port.element], port.shape):
            got = f"{entry.dtype}{list(entry.shape)}"
            raise damaged(folder, f"needs {port} in {file.name}, got {got}")
        end = start + port.nbytes
        if entry.data_offsets != (start, end):
            raise damaged(folder, f"has a {file.name} whose {name!r} is not where it belongs")
    if end != length:
        raise damaged(folder, f"has a {file.name} with {length - end} bytes of no tensor")


def _places(wanted: Iterable[Port]) -> tuple[Array, dict[str, Array]]:
    """Returns a block of memory, and in it an array for each of `wanted`."""
    ports = list(wanted)
    starts, end = [], 0
    for port in ports:
        starts.append(end)
        end += -(-port.nbytes // ALIGNMENT) * ALIGNMENT
    block = np.empty(end + ALIGNMENT, np.uint8)
    first = -block.ctypes.data % ALIGNMENT
    return block, {
        port.name: block[first + start : first + start + port.nbytes]
        .view(port.dtype)
        .reshape(port.shape)
        for port, start in zip(ports, starts, strict=True)
    }
