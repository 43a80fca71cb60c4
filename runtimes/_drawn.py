"""Arguments drawn for a module that nobody gave any."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topos.runtimes._runtime import ArrayType

__all__ = ["drawn"]


def drawn(generator: np.random.Generator, type: ArrayType) -> npt.NDArray[Any]:
    """Returns normal numbers for floats and zeros and ones for integers and truth values."""
    if type.dtype.kind == "c":
        parts = generator.standard_normal((2, *type.shape))
        return np.asarray(parts[0] + 1j * parts[1]).astype(type.dtype)
    if type.dtype.kind in "biu" or "int" in type.dtype.name:
        return np.asarray(generator.integers(0, 2, type.shape)).astype(type.dtype)
    return np.asarray(generator.standard_normal(type.shape)).astype(type.dtype)
