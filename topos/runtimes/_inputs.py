"""Arrays for arguments that nobody gave: random ones by type, and special values among them."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from topos.runtimes._signature import ArrayType

Array = npt.NDArray[Any]

# What an extent that the type leaves open becomes.
EXTENT: Final = 2
# One element of so many is special, and one at least.
SPARSE: Final = 8


def random_array(generator: np.random.Generator, type: ArrayType, extent: int = EXTENT) -> Array:
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


def special_array(generator: np.random.Generator, type: ArrayType, extent: int = EXTENT) -> Array:
    """Returns random numbers of which one in eight, and one at least, is a special value."""
    array = random_array(generator, type, extent)
    values = special_values(type.dtype)
    chosen = generator.choice(array.size, -(-array.size // SPARSE), replace=False)
    flat = array.reshape(-1)
    flat[chosen] = values[generator.integers(0, len(values), len(chosen))]
    return flat.reshape(array.shape)


def special_values(dtype: np.dtype[Any]) -> Array:
    """Returns zeros, ties, the ends of the range, infinities and NaN, as far as a dtype has them"""
    if dtype.kind == "b":
        return np.array([False, True])
    known: Any = ml_dtypes
    if dtype.kind in "iu" or "int" in dtype.name:
        limits = known.iinfo(dtype) if "int" in dtype.name else np.iinfo(dtype)
        return np.array([0, 1, limits.max, limits.min, limits.max - 1, limits.min + 1], dtype)
    part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    limits = known.finfo(part)
    numbers = [
        0.0, -0.0, 1.0, -1.0, 0.5, 2.5, limits.max, limits.min, limits.smallest_normal,
        limits.smallest_subnormal, np.inf, -np.inf, np.nan,
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.array(numbers, np.float64).astype(dtype)
