"""Fourier transforms over the last axes.

The Exact posture transforms in double precision and rounds once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import dtype_of, extents, is_complex

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]

_TRANSFORMS: Final[Mapping[str, Callable[..., Array]]] = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "IRFFT": np.fft.irfftn,
    "RFFT": np.fft.rfftn,
}


def _fft(site: Site) -> Kernel:
    (operand,), (result,) = site.operands, site.results
    lengths = site.integers("fft_length")
    kind = site.word("fft_type")
    # The real side of a transform has the stated lengths; the other has fewer elements. Of complex
    # numbers alone the specification's rules leave the lengths free, and its meaning does not.
    real = result if kind == "IRFFT" else operand
    shape = extents(real)[len(real.shape) - len(lengths) :]
    if shape != lengths:
        site.unsupported(f"needs {list(shape)} as fft_length, got {list(lengths)}")
    if 0 in extents(result):
        return partial(_empty, extents(result), dtype_of(result))
    axes = tuple(range(len(operand.shape) - len(lengths), len(operand.shape)))
    computed = dtype_of(operand)
    if site.exact:
        computed = np.dtype(np.complex128 if is_complex(operand) else np.float64)
    return partial(_transformed, _TRANSFORMS[kind], lengths, axes, computed, dtype_of(result))


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any], _: Array) -> Array:
    return np.empty(shape, dtype)


def _transformed(
    transform: Callable[..., Array],
    lengths: tuple[int, ...],
    axes: tuple[int, ...],
    computed: np.dtype[Any],
    dtype: np.dtype[Any],
    array: Array,
) -> Array:
    values = transform(array.astype(computed, copy=False), s=lengths, axes=axes)
    return values.astype(dtype, copy=False)


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.fft": _fft}
