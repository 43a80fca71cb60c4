"""The numerics posture: the fidelity that an execution demands of every kernel."""

from __future__ import annotations

from enum import Enum

__all__ = ["Numerics"]


class Numerics(Enum):
    """`EXACT` demands the oracle's bits; `FAST` admits kernels that reorder float arithmetic."""

    EXACT = "exact"
    FAST = "fast"
