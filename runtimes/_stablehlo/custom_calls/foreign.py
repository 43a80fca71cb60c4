"""The door to scipy, which has the routines of LAPACK that numpy leaves out."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from topos.errors import UnavailableError

__all__ = ["foreign"]


def foreign(module: str) -> Any:
    """Returns a module of scipy, or raises `UnavailableError`."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UnavailableError(
            f"a custom call needs scipy for what numpy lacks: pip install scipy ({error})"
        ) from error
