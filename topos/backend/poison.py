"""Poison: a device that failed once is not asked again by this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from topos.backend.backend import Backend

__all__ = ["poison", "reason"]

# A driver that failed is in no known state, and that is a fact of the process, not of a run.
_FAILED: Final[dict[Backend, str]] = {}


def poison(backend: Backend, failure: str) -> None:
    """Makes `backend` decline every further task; the first failure is the reason kept."""
    _FAILED.setdefault(backend, failure)


def reason(backend: Backend) -> str | None:
    """Returns why `backend` is not asked any more, or `None` where it never failed."""
    failure = _FAILED.get(backend)
    return None if failure is None else f"it failed and declines since: {failure}"
