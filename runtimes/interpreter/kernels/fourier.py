"""Fourier transforms over the last axes.

The Exact posture transforms in double precision by a stated order of sums and products, and rounds
once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels.canonical import canonical
from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.transforms import transformed
from topos.runtimes.interpreter.program import Kernel
from topos.runtimes.interpreter.special.complex_parts import Parts, joined
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]

_TRANSFORMS: Final[Mapping[str, Callable[..., Array]]] = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "IRFFT": np.fft.irfftn,
    "RFFT": np.fft.rfftn,
}


def _fft(context: BuildContext) -> Kernel:
    (operand,), (result,) = context.operands, context.results
    lengths = context.integers("fft_length")
    kind = context.word("fft_type")
    # The real side of a transform has the stated lengths; the other has fewer elements. Of complex
    # numbers alone the specification's rules leave the lengths free, and its meaning does not.
    real = result if kind == "IRFFT" else operand
    shape = extents(real)[len(real.shape) - len(lengths) :]
    if shape != lengths:
        context.unsupported(f"needs {list(shape)} as fft_length, got {list(lengths)}")
    if 0 in extents(result):
        return partial(_empty, extents(result), dtype_of(result))
    axes = tuple(range(len(operand.shape) - len(lengths), len(operand.shape)))
    if context.exact:
        return partial(_summed, kind, lengths, axes, dtype_of(result))
    return partial(_transformed, _TRANSFORMS[kind], lengths, axes, dtype_of(result))


def _summed(
    kind: str, lengths: tuple[int, ...], axes: tuple[int, ...], dtype: np.dtype[Any], array: Array
) -> Array:
    sign = 1 if kind.startswith("I") else -1
    parts = array.real.astype(np.float64), array.imag.astype(np.float64)
    *others, last = axes
    for axis in others if kind == "IRFFT" else reversed(axes):
        parts = transformed(parts, axis, sign)
    if kind == "IRFFT":
        parts = transformed(_whole(parts, lengths[-1]), last, sign)
    if sign > 0:
        parts = parts[0] / math.prod(lengths), parts[1] / math.prod(lengths)
    if kind == "RFFT":
        half = lengths[-1] // 2 + 1
        parts = parts[0][..., :half], parts[1][..., :half]
    if dtype.kind != "c":
        return canonical(parts[0].astype(dtype))
    return joined((parts[0].ravel(), parts[1].ravel()), np.empty(parts[0].shape, dtype))


def _whole(parts: Parts, extent: int) -> Parts:
    """Returns the spectrum of which the last axis has one half; the other half is its conjugate."""
    real, imaginary = parts[0], np.array(parts[1])
    # What stands alone is its own conjugate, whatever the operand says.
    imaginary[..., 0] = 0.0
    if extent % 2 == 0:
        imaginary[..., -1] = 0.0
    back = slice((extent - 1) // 2, 0, -1)
    return (
        np.concatenate([real, real[..., back]], axis=-1),
        np.concatenate([imaginary, -imaginary[..., back]], axis=-1),
    )


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any], _: Array) -> Array:
    return np.empty(shape, dtype)


def _transformed(
    transform: Callable[..., Array],
    lengths: tuple[int, ...],
    axes: tuple[int, ...],
    dtype: np.dtype[Any],
    array: Array,
) -> Array:
    values = transform(array, s=lengths, axes=axes)
    return values.astype(dtype, copy=False)


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.fft": _fft}
