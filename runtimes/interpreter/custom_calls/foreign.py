"""The door to scipy, whose LAPACK is the one that jax calls."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from topos.errors import UnavailableError

__all__ = ["optional_scipy", "required_scipy"]


def required_scipy(target: str) -> Any:
    """Returns `scipy.linalg`, or raises `UnavailableError` that names the target."""
    module = optional_scipy()
    if module is None:
        raise UnavailableError(f"custom_call @{target} needs scipy: pip install scipy")
    return module


def optional_scipy() -> Any:
    """Returns `scipy.linalg`, or `None` where it cannot be imported."""
    try:
        return import_module("scipy.linalg")
    except ImportError:
        return None
