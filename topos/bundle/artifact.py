"""Artifacts held against the text that they are to be the same module as."""

from __future__ import annotations

from topos.bundle.portable import serialized
from topos.errors import BundleError, TextError
from topos.stablehlo.forms.binary import bytecode_text, printed

__all__ = ["demand_same"]


def demand_same(text: str, artifact: bytes, version: str) -> None:
    """Raises `BundleError` where an artifact does not hold the module of a text.

    Bytes that an export here would write are right. Any others, of another jaxlib or of whoever
    changed them, are read by a process of their own.
    """
    own = serialized(text, version)
    if artifact == own:
        return
    try:
        held = bytecode_text(artifact)
    except TextError as error:
        raise BundleError(f"the artifact cannot be read: {error}") from error
    if held != printed(own):
        raise BundleError("the artifact holds another module than the text")
