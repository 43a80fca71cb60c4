"""Reading of a module: its text parsed and verified, every fault told at its place."""

from __future__ import annotations

from topos.stablehlo.ir import Module
from topos.stablehlo.parsed import told_of
from topos.stablehlo.parser.parse import parse as parsed
from topos.stablehlo.verifier import verify

__all__ = ["parsed", "read", "told_of"]


def read(text: str) -> Module:
    """Returns the module that `text` spells, verified.

    Raises `ParseError` where it is no module, `VerifyError` where an operation breaks a rule, and
    `UnsupportedError` where something is known by name only; each has the line and a caret.
    """
    with told_of(text):
        module = parsed(text)
        verify(module)
        return module
