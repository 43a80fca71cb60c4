"""Fidelity: how close a faster kernel stays to the oracle's bits."""

from __future__ import annotations

from enum import Enum

__all__ = ["Fidelity"]


class Fidelity(Enum):
    """From strongest to weakest; exact runs admit the first two."""

    BIT_IDENTICAL = "the oracle's bits, always"
    COMPOSED = "the bits of the composition it replaces, under the same numerics"
    ENVELOPE = "within a stated bound in units in the last place"

    @property
    def exact(self) -> bool:
        """Whether an exact run admits it."""
        return self is not Fidelity.ENVELOPE
