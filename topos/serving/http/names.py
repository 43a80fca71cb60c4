"""Names: which models have a path of their own over HTTP."""

from __future__ import annotations

import re
from typing import Final

from topos.errors import BundleError

__all__ = ["require_servable"]

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")
# Paths of the protocol, and what clients take for folders.
_TAKEN: Final = frozenset({"stats", ".", ".."})


def require_servable(name: str) -> None:
    """Raises `BundleError` for a model whose name cannot stand in a path as it is."""
    if not _NAME.fullmatch(name) or name in _TAKEN:
        shown = repr(name) if len(name) <= 80 else f"{name[:80]!r}..."
        raise BundleError(
            "serving over HTTP needs models named with letters, digits, dots, dashes and "
            f"underscores, 'stats' and dots alone excepted, got {shown}"
        )
