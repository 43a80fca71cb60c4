"""What people take for a module and is none: each known by its content, with what to do instead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from topos.errors import ParseError

SHOWN: Final = 4
# Every mark of a text stands in its first lines.
HEAD: Final = 4096


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
TENSORFLOW: Final = (
    "its operations are those of TensorFlow; jax.export writes StableHLO, also of what tf2jax "
    "converts"
)
SAVED_MODEL: Final = Mistake("a TensorFlow SavedModel", TENSORFLOW)


def demand_no_mistake(text: str) -> None:
    """Raises `ParseError` where a text is known to be something else than a module."""
    head = text[:HEAD]
    if not head.strip() and not text.strip():
        raise EMPTY.error()
    for pattern, mistake in TEXTS:
        if pattern.match(head):
            raise mistake.error()


def folder_mistake(folder: Path) -> ParseError:
    """Returns the error of a folder given for a module, with the modules that could be meant."""
    if (folder / "saved_model.pb").is_file():
        return SAVED_MODEL.error()
    held = sorted(str(path) for path in folder.glob("*.mlir*"))
    shown = ", ".join(held[:SHOWN]) + (", ..." if len(held) > SHOWN else "")
    holding = f" that holds {shown}" if held else ""
    return ParseError(f"a module is a file, and this is a folder{holding}")
