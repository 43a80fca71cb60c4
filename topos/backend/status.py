"""Status: whether something optional is ready on this machine, or why it is not."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Status"]


class Status(NamedTuple):
    """Whether a backend or a runtime is ready, with its version or the reason it is not."""

    ready: bool
    detail: str
