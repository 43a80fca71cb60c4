"""Outcomes: what a request was answered, and by which version."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

__all__ = ["Outcome"]


class Outcome(NamedTuple):
    """Results by name, all of them computed by that version of the model and no other."""

    results: dict[str, npt.NDArray[Any]]
    version: str
