"""What people take for a module and is none: each known by its content, with what to do instead."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Final, NamedTuple

from topos.errors import ParseError
from topos.stablehlo.models import SAVED_MODEL, model_in

__all__ = ["demand_no_mistake", "folder_mistake", "mistake_in"]

SHOWN: Final = 4
# Every mark of a text stands in its first lines.
HEAD: Final = 4096

EXPORT: Final = "export the model with jax.export, or torch_xla for PyTorch"
WEIGHTS: Final = "it holds weights alone; give the module, which takes them as arguments"
ORIGIN: Final = "give the module that it was compiled from"
UNPACK: Final = "unpack it first"
AS_UTF8: Final = "write it as UTF-8"


class Mistake(NamedTuple):
    """What was given, and what to do instead."""

    form: str
    instead: str

    def error(self) -> ParseError:
        """Returns the exception that tells of it."""
        return ParseError(f"a module needs StableHLO, got {self.form}: {self.instead}")


EMPTY: Final = Mistake("nothing", "the text is empty")
HLO: Final = Mistake(
    "HLO text",
    "jax.jit(f).lower(...).as_text() is StableHLO, and XLA's xla-translate "
    "--hlo-text-to-stablehlo converts a file",
)
TEXTS: Final = (
    (re.compile(r"\s*(?://[^\n]*\n\s*)*HloModule\b"), HLO),
    (
        re.compile(r"\s*\{ lambda\b"),
        Mistake("a jaxpr", "jax.jit(f).lower(...).as_text() is StableHLO"),
    ),
    (
        re.compile(r"version https://git-lfs\.github\.com/"),
        Mistake("a pointer of Git LFS", "git lfs pull fetches the file that it stands for"),
    ),
    (
        re.compile(r"\s*<(?:!DOCTYPE html|html)\b", re.IGNORECASE),
        Mistake("an HTML page", "download the file itself"),
    ),
    (
        re.compile(r'\s*(?:\{\s*"[^"\n]*"\s*:|\[\s*[\[{"])'),
        Mistake("JSON", "give the module that it describes"),
    ),
    (
        re.compile(r'[^\n{}()<>%@"=]+\.(?:mlir\w*|stablehlo|bc|txt|hlo|pb|onnx)\s*\Z'),
        Mistake("the name of a file", "give a file as pathlib.Path(name)"),
    ),
)
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
LONGEST_HEADER: Final = 100_000_000
SAMPLE: Final = 64


def demand_no_mistake(text: str) -> None:
    """Raises `ParseError` where a text is known to be something else than a module."""
    head = text[:HEAD]
    if not head.strip() and not text.strip():
        raise EMPTY.error()
    for pattern, mistake in TEXTS:
        if pattern.match(head):
            raise mistake.error()


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
    model = model_in(data)
    return Mistake(*model) if model else None


def folder_mistake(folder: Path) -> ParseError:
    """Returns the error of a folder given for a module, with the modules that could be meant."""
    if (folder / "saved_model.pb").is_file():
        return Mistake(*SAVED_MODEL).error()
    held = sorted(str(path) for path in folder.glob("*.mlir*"))
    shown = ", ".join(held[:SHOWN]) + (", ..." if len(held) > SHOWN else "")
    holding = f" that holds {shown}" if held else ""
    return ParseError(f"a module is a file, and this is a folder{holding}")


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
    """Returns whether every other byte is zero, as in UTF-16 that has no mark at its start."""
    sides = data[::2], data[1::2]
    return len(data) > 1 and any(not any(side) for side in sides) and any(data)
