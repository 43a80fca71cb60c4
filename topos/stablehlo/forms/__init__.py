"""The forms that a module comes in, and the text of each."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from topos.errors import ArgumentError, ParseError
from topos.stablehlo.forms.mistakes import demand_no_mistake, folder_mistake
from topos.stablehlo.ir import Module

__all__ = ["ModuleLike", "text_of"]

# How text begins: every binary form has a control character among its first bytes.
PLAIN: Final = re.compile(rb"[\t-\r\x20-\x7e\x80-\xff]*")
SAMPLE: Final = 64


@runtime_checkable
class ExportedFunction(Protocol):
    """What `jax.export.export` returns."""

    def mlir_module(self) -> str:
        """Returns the module as text."""


@runtime_checkable
class LoweredFunction(Protocol):
    """What `jax.jit(f).lower` returns."""

    def as_text(self, *, debug_info: bool = False) -> str:
        """Returns the module as text."""


@runtime_checkable
class MlirModule(Protocol):
    """A module or an operation of MLIR's bindings, those of jaxlib, IREE or any other."""

    @property
    def operation(self) -> Any:
        """Returns the operation, which prints itself."""


ModuleLike = (
    str
    | bytes
    | bytearray
    | memoryview
    | os.PathLike[str]
    | Module
    | ExportedFunction
    | LoweredFunction
    | MlirModule
)


def text_of(module: ModuleLike, *, locations: bool = False) -> str:
    """Returns the StableHLO text of a module in any form.

    A `str` is the text itself. `bytes` are UTF-8 text, MLIR bytecode, a StableHLO portable
    artifact, or what `jax.export.Exported.serialize` returns, told apart by their content; a path
    is a file of those. A `jax.export.Exported`, what `jax.jit(f).lower` returns, a module of MLIR's
    bindings and a tree are printed. Binary forms are read by jaxlib, in a process of its own.
    With `locations`, what is printed has those that it holds.

    Raises `ParseError` for what is known to be no module, with what it is, and for bytes that are
    damaged; `UnavailableError` for a binary form without jaxlib; `ArgumentError` for a value of any
    other type, and `OSError` for a file that cannot be read.
    """
    match module:
        case str():
            text = module
        case bytes() | bytearray() | memoryview():
            text = _decoded(bytes(module), locations)
        case Module():
            # The printer is as large as the rest, and only a tree needs it.
            from topos.stablehlo.printer import printed

            return printed(module)
        case os.PathLike():
            text = _decoded(_content(Path(module)), locations)
        case ExportedFunction():
            text = module.mlir_module()
        case LoweredFunction():
            text = module.as_text(debug_info=True) if locations else module.as_text()
        case MlirModule():
            text = str(module.operation.get_asm(enable_debug_info=locations))
        case _:
            raise ArgumentError(
                "a module needs to be text, bytes, a path, a jax.export.Exported or a module of "
                f"MLIR, got {type(module).__name__}"
            )
    demand_no_mistake(text)
    return text


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise folder_mistake(path)
    return path.read_bytes()


def _decoded(data: bytes, locations: bool) -> str:
    """Returns the text that bytes hold, in whatever form they hold it."""
    if not PLAIN.fullmatch(data[:SAMPLE]):
        binary = _binary_text(data, locations)
        if binary is not None:
            return binary
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError(f"a module needs UTF-8 text or MLIR bytecode: {error}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _binary_text(data: bytes, locations: bool) -> str | None:
    """Returns the text of a binary form, or None for bytes that are none that is known."""
    # A command that is given text loads none of this.
    from topos.stablehlo.forms.binary import bytecode_text
    from topos.stablehlo.forms.binary_mistakes import (
        CUT_OFF,
        MAGIC,
        artifact_in,
        is_exported,
        mistake_in,
    )

    artifact = data if data.startswith(MAGIC) else artifact_in(data)
    if artifact is not None:
        return bytecode_text(artifact, locations)
    mistake = CUT_OFF if is_exported(data) else mistake_in(data)
    if mistake is not None:
        raise mistake.error()
    return None
