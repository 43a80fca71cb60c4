"""The numerics posture: the fidelity that an execution demands of every kernel."""

from __future__ import annotations

from enum import Enum

from topos.errors import PostureError


class Numerics(Enum):
    """`EXACT` demands the oracle's bits; `FAST` admits kernels that reorder float arithmetic."""

    EXACT = "exact"
    FAST = "fast"

    @classmethod
    def of(cls, posture: Numerics | str) -> Numerics:
        """Returns the posture that a member or its value names; raises `PostureError`."""
        try:
            return cls(posture)
        except ValueError:
            raise PostureError(f"numerics are 'exact' or 'fast', got {posture!r}") from None
