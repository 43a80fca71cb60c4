"""Files in binary forms: what holds no StableHLO, and the artifact that an export holds."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from typing import Final

from topos.stablehlo.forms.mistakes import Mistake
from topos.stablehlo.forms.models import model_in

EXPORT: Final = "export the model with jax.export, or torch_xla for PyTorch"
WEIGHTS: Final = "it holds weights alone; give the module, which takes them as arguments"
ORIGIN: Final = "give the module that it was compiled from"
UNPACK: Final = "unpack it first"
AS_UTF8: Final = "write it as UTF-8"

PREFIXES: Final = {
    b"\xff\xfe\x00\x00": Mistake("text in UTF-32", AS_UTF8),
    b"\xff\xfe": Mistake("text in UTF-16", AS_UTF8),
    b"\xfe\xff": Mistake("text in UTF-16", AS_UTF8),
    b"\x7fELF": Mistake("a compiled ELF library", ORIGIN),
    b"BC\xc0\xde": Mistake("LLVM bitcode", ORIGIN),
    b"\x89HDF\r\n\x1a\n": Mistake("an HDF5 file, as Keras writes", EXPORT),
    b"GGUF": Mistake("a GGUF file", WEIGHTS),
    b"\x93NUMPY": Mistake("an array in a .npy file", WEIGHTS),
    b"\x1f\x8b": Mistake("a gzip archive", UNPACK),
    b"\x28\xb5\x2f\xfd": Mistake("a zstd archive", UNPACK),
    b"\xfd7zXZ\x00": Mistake("an xz archive", UNPACK),
    b"BZh": Mistake("a bzip2 archive", UNPACK),
}
VMFB: Final = Mistake("a compiled module of IREE (vmfb)", ORIGIN)
# What is in a zip archive, by the names of its members.
MEMBERS: Final = (
    (re.compile(r"module\.fb\Z"), VMFB),
    (re.compile(r".*\.npy\Z"), Mistake("arrays in a .npz file", WEIGHTS)),
    (re.compile(r"(.*/)?data\.pkl\Z"), Mistake("a file of torch.save (.pt)", EXPORT)),
    (
        re.compile(r"(.*/)?(archive_format|serialized_exported_program\.json)\Z"),
        Mistake(
            "an exported program of PyTorch (.pt2)",
            "torch_xla.stablehlo.exported_program_to_stablehlo turns it into StableHLO",
        ),
    ),
    (re.compile(r"model\.weights\.h5\Z"), Mistake("a Keras model (.keras)", EXPORT)),
)
PICKLE: Final = re.compile(rb"\x80[\x02-\x05]")
PRINTABLE: Final = re.compile(rb"[\t-\r\x20-\x7e]+")
LONGEST_HEADER: Final = 100_000_000
SAMPLE: Final = 64
# How MLIR's bytecode begins: https://mlir.llvm.org/docs/BytecodeFormat.
MAGIC: Final = b"ML\xefR"
# The place of `mlir_module_serialized` among the fields of jax's table; a schema only appends.
SLOT: Final = 13
MOST: Final = 64
CUT_OFF: Final = Mistake(
    "a serialized jax.export.Exported that is cut off", "write all the bytes of serialize()"
)


def mistake_in(data: bytes) -> Mistake | None:
    """Returns what bytes are that are neither a text nor MLIR bytecode, or None if not known."""
    for prefix, mistake in PREFIXES.items():
        if data.startswith(prefix):
            return mistake
    if data.startswith(b"PK\x03\x04"):
        return _archive(data)
    # A flatbuffer's identifier stands behind the offset of its root; IREE puts a size before.
    if data[4:8] == b"TFL3":
        return Mistake("a TFLite model", f"its operations are those of TFLite; {EXPORT}")
    if b"IREE" in (data[4:8], data[8:12]):
        return VMFB
    if _is_safetensors(data):
        return Mistake("a safetensors file", WEIGHTS)
    if _is_wide_text(data[:SAMPLE]):
        return Mistake("text in UTF-16", AS_UTF8)
    if PICKLE.match(data):
        return Mistake("a pickle, as torch.save writes", EXPORT)
    return model_in(data)


def _archive(data: bytes) -> Mistake:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    # An archive that is cut off has lost the list at its end; its first name stands at its start.
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        length = int.from_bytes(data[26:28], "little")
        names = [data[30 : 30 + length].decode("utf-8", errors="replace")]
    for pattern, mistake in MEMBERS:
        if any(map(pattern.match, names)):
            return mistake
    return Mistake("a zip archive", UNPACK)


def _is_safetensors(data: bytes) -> bool:
    """Returns whether bytes begin with the length of a header and a header in JSON."""
    length = int.from_bytes(data[:8], "little")
    return 2 <= length <= LONGEST_HEADER and data[8:10] in (b'{"', b"{}", b"{ ")


def _is_wide_text(data: bytes) -> bool:
    """Returns whether bytes are printable ASCII with zeros between, as UTF-16 without a mark is."""
    sides = data[::2], data[1::2]
    return any(PRINTABLE.fullmatch(one) and not any(other) for one, other in (sides, sides[::-1]))


def artifact_in(data: bytes) -> bytes | None:
    """Returns the portable artifact of a serialized `Exported`, or None where there is none.

    jax itself needs the package flatbuffers to read these bytes, and they have no identifier: they
    are known by the artifact that stands where the schema puts it.
    """
    try:
        (root,) = struct.unpack_from("<I", data)
        (back,) = struct.unpack_from("<i", data, root)
        table = root - back
        size, slot = *struct.unpack_from("<H", data, table), 4 + 2 * SLOT
        if size < slot + 2:
            return None
        (field,) = struct.unpack_from("<H", data, table + slot)
        at = root + field
        at += struct.unpack_from("<I", data, at)[0]
        (length,) = struct.unpack_from("<I", data, at)
    # An offset that leads out of the bytes, behind their end or before their start.
    except struct.error:
        return None
    artifact = data[at + 4 : at + 4 + length]
    return artifact if len(artifact) == length and artifact.startswith(MAGIC) else None


def is_exported(data: bytes) -> bool:
    """Returns whether bytes begin as a serialized `Exported` does: with the places of its fields.

    Where the bytes end before they tell where these stand, they stand first.
    """
    try:
        (root,) = struct.unpack_from("<I", data)
        table = root - struct.unpack_from("<i", data, root)[0] if root + 4 <= len(data) else 4
        size, inline = struct.unpack_from("<HH", data, table)
        count = (size - 4) // 2
        places = struct.unpack_from(f"<{count}H", data, table + 4) if SLOT < count < MOST else ()
    except struct.error:
        return False
    return bool(places) and all(place < inline for place in places) and places[SLOT] > 0
