"""Arguments drawn for a module that nobody gave any."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._runtime import ArrayType

__all__ = ["EXTENT", "drawn"]

EXTENT: Final = 2


def drawn(
    generator: np.random.Generator, type: ArrayType, extent: int = EXTENT
) -> npt.NDArray[Any]:
    """Returns normal numbers for floats and zeros and ones for integers and truth values.

    What `type` leaves open has the extent `extent`.
    """
    shape = tuple([extent if each is None else each for each in type.shape])
    if type.dtype.kind == "c":
        parts = generator.standard_normal((2, *shape))
        return np.asarray(parts[0] + 1j * parts[1]).astype(type.dtype)
    if type.dtype.kind in "biu" or "int" in type.dtype.name:
        return np.asarray(generator.integers(0, 2, shape)).astype(type.dtype)
    return np.asarray(generator.standard_normal(shape)).astype(type.dtype)
