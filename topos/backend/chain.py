"""Chains: the order in which the backends are offered a task."""

from __future__ import annotations

from functools import cache
from typing import Final

from topos.backend.backend import Backend
from topos.backend.dispatch import Dispatch
from topos.backend.formula import MAPS, Formula
from topos.backend.precision import Precision

__all__ = ["chain"]

# A device takes only large maps, and those it computes faster than any library of the host. For a
# product the host's library goes first.
_DEVICES_FIRST: Final = (
    Backend.METAL,
    Backend.CUDA,
    Backend.ACCELERATE,
    Backend.SIMD,
    Backend.NUMBA,
    Backend.FUSED,
    Backend.STABLEHLO,
)


@cache
def chain(formula: Formula, precision: Precision) -> tuple[Backend, ...]:
    """Returns the backends with a kernel for tasks of `formula` at `precision`, in order."""
    order = _DEVICES_FIRST if formula in MAPS else Backend.ALL
    return tuple(
        backend
        for backend in order
        if backend.serves(formula, precision)
        and backend.coverage(formula).dispatch is not Dispatch.TEXT
    )
