"""Files in binary forms that hold no StableHLO: each known by its first bytes or its members."""

from __future__ import annotations

import io
import re
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
