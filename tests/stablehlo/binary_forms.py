"""Modules in binary forms, as jaxlib writes them."""

from __future__ import annotations

import io
from typing import Any

from topos.stablehlo.forms.binary import bindings

__all__ = ["artifact_of", "bytecode_of", "parsed"]


def parsed(text: str) -> tuple[Any, Any]:
    """Returns jaxlib's functions on StableHLO, and a text as its module."""
    ir, stablehlo, context = bindings()
    with context:
        return stablehlo, ir.Module.parse(text)


def bytecode_of(text: str) -> bytes:
    """Returns the MLIR bytecode of a text."""
    _, module = parsed(text)
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def artifact_of(text: str) -> bytes:
    """Returns the portable artifact of a text."""
    stablehlo, module = parsed(text)
    return bytes(stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version()))
