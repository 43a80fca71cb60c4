"""Choices: attributes that are one of a few words, each kind in brackets of its own."""

from __future__ import annotations

from collections.abc import Collection

from topos.stablehlo.ir import Word
from topos.stablehlo.opview import OpView

__all__ = ["choice"]


def choice(
    claim: OpView, key: str, opening: str, known: Collection[str], default: str | None = None
) -> str:
    """Returns a word of `known` that was written as `#opening word>`."""
    if default is not None and key not in claim.operation.attributes:
        return default
    value = claim.attribute(key)
    if not isinstance(value, Word) or value.opening.strip() != opening or value not in known:
        claim.refuse(f"needs one of {', '.join(known)} as {key}, got {value}")
    return value
