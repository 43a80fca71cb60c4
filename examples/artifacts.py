"""The files that examples leave behind: each is written whole, or what was there stays."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["figure", "write", "write_figure"]


def figure(width: float, height: float) -> Any:
    """Returns an empty figure of so many inches; ends the process where matplotlib is missing."""
    try:
        # Drawn at the end of an example, so that its help and its options need no matplotlib.
        from matplotlib.figure import Figure
    except ImportError:
        needs = "a picture needs matplotlib: pip install 'topos-compiler[examples]'"
        print(needs, file=sys.stderr)
        raise SystemExit(2) from None
    return Figure(figsize=(width, height), layout="constrained")


def write_figure(drawn: Any, path: Path) -> None:
    """Writes a figure as a PNG: equal figures make equal files."""
    buffer = io.BytesIO()
    # The version of matplotlib and the time are no part of the picture.
    drawn.savefig(buffer, format="png", dpi=120, metadata={"Software": None})
    write(buffer.getvalue(), path)


def write(content: bytes, path: Path) -> None:
    """Writes the whole of `content` to `path` or leaves what was there; makes its folder."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
