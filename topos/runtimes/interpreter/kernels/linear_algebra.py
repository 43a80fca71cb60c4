"""Fourier transforms, Cholesky factors and triangular systems of equations.

The exact transforms are of additions and multiplications alone, the same on every machine. A
length n = p m, p its least prime factor, is p transforms of length m of every p-th element, and
X[j + m q] the sum over r, ascending, of w**((j + m q) r) times the r-th of them at j. The powers of
w = e**(+-2 pi i / n) are the nearest numbers. A product is (ac - bd) + i(ad + bc), each operation
rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import canonical
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.custom_calls.elimination import adjoint, factored, solved
from topos.runtimes.interpreter.program import Array, Kernel
from topos.runtimes.interpreter.special.complex_arithmetic import Parts, joined
from topos.runtimes.interpreter.special.wide import PI, Wide, constant, sine_cosine
from topos.stablehlo.dialect import linear_algebra as dialect
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import dtype_of, extents, is_complex

_TRANSFORMS: Final[Mapping[str, Callable[..., Array]]] = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "IRFFT": np.fft.irfftn,
    "RFFT": np.fft.rfftn,
}


def _fft(context: BuildContext[dialect.Fft]) -> Kernel:
    (operand,), (result,) = context.operands, context.results
    lengths = context.op.fft_length
    kind = context.op.fft_type
    # The real side of a transform has the stated lengths; the other has fewer elements. Of complex
    # numbers alone the specification's rules leave the lengths free, and its meaning does not.
    real = result if kind == "IRFFT" else operand
    shape = extents(real)[len(real.shape) - len(lengths) :]
    if shape != lengths:
        context.unsupported(f"needs {list(shape)} as fft_length, got {list(lengths)}")
    if 0 in extents(result):
        return lambda array: np.empty(extents(result), dtype_of(result))
    axes = tuple(range(len(operand.shape) - len(lengths), len(operand.shape)))
    if context.exact:
        return partial(_summed, kind, lengths, axes, dtype_of(result))
    transform = partial(_TRANSFORMS[kind], s=lengths, axes=axes)
    return partial(_transformed, transform, dtype_of(result))


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


def _transformed(transform: Kernel, dtype: np.dtype[Any], array: Array) -> Array:
    return np.asarray(transform(array).astype(dtype, copy=False))


def _cholesky(context: BuildContext[dialect.Cholesky]) -> Kernel:
    lower = context.op.lower
    (operand,) = context.operands
    return partial(_factors, lower, _computed(operand, context.exact), not context.exact)


def _factors(lower: bool, computed: np.dtype[Any], blocked: bool, matrix: Array) -> Array:
    wide = matrix.astype(computed)
    factor, failed = factored(wide if lower else adjoint(wide), blocked)
    factor = np.where(failed[..., None, None] != 0, computed.type(np.nan), factor)
    return (factor if lower else adjoint(factor)).astype(matrix.dtype)


def _triangular_solve(context: BuildContext[dialect.TriangularSolve]) -> Kernel:
    return partial(
        _solution,
        _computed(context.operands[0], context.exact),
        partial(
            solved,
            left=context.op.left_side,
            lower=context.op.lower,
            unit=context.op.unit_diagonal,
            transpose=context.op.transpose_a,
            blocked=not context.exact,
        ),
    )


def _solution(computed: np.dtype[Any], solve: Kernel, matrix: Array, sides: Array) -> Array:
    return np.asarray(solve(matrix.astype(computed), sides.astype(computed)).astype(sides.dtype))


def _computed(type: Tensor, exact: bool) -> np.dtype[Any]:
    """Returns the dtype that a computation over `type` runs in."""
    if not exact and type.element in ("f32", "complex<f32>"):
        return dtype_of(type)
    return np.dtype(np.complex128 if is_complex(type) else np.float64)


def transformed(parts: Parts, axis: int, sign: int) -> Parts:
    """Returns the sums of x[k] e**(sign 2 pi i j k / n) along `axis`, of any length but 0."""
    real, imaginary = (np.moveaxis(part, axis, -1) for part in parts)
    real, imaginary = _along(real, imaginary, sign)
    return np.moveaxis(real, -1, axis), np.moveaxis(imaginary, -1, axis)


def _along(real: Array, imaginary: Array, sign: int) -> Parts:
    *lead, extent = real.shape
    if extent == 1:
        return real, imaginary
    factor = _least_factor(extent)
    split = (*lead, extent // factor, factor)
    real, imaginary = _along(
        real.reshape(split).swapaxes(-1, -2), imaginary.reshape(split).swapaxes(-1, -2), sign
    )
    first = real[..., :1, :], imaginary[..., :1, :]
    total, rest = (np.repeat(part, factor, axis=-2) for part in first)
    cosine, sine = _circle(extent)
    order = np.arange(extent).reshape(factor, -1)
    for index in range(1, factor):
        places = order * index % extent
        c, d = cosine[places], sine[places] * sign
        a, b = real[..., index, None, :], imaginary[..., index, None, :]
        total += a * c - b * d
        rest += a * d + b * c
    return total.reshape(*lead, extent), rest.reshape(*lead, extent)


def _least_factor(extent: int) -> int:
    tried = (number for number in range(2, math.isqrt(extent) + 1) if extent % number == 0)
    return next(tried, extent)


@lru_cache(maxsize=64)
def _circle(extent: int) -> Parts:
    """Returns cos(2 pi k / n) and sin(2 pi k / n) for all k below n, each the nearest number."""
    quarters, rest = np.divmod(4 * np.arange(extent), extent)
    # Of a quarter the half nearer to an axis is computed, so that both axes are exact.
    turned = 2 * rest > extent
    share = np.where(turned, extent - rest, rest).astype(np.float64)
    angle = constant(PI).scaled(0.5) * share / float(extent)
    sine, cosine = (number.value() for number in sine_cosine(Wide(angle.head, angle.tail)))
    sine, cosine = np.where(turned, cosine, sine), np.where(turned, sine, cosine)
    for bit in range(1, 4):
        moved = quarters >= bit
        sine, cosine = np.where(moved, cosine, sine), np.where(moved, -sine, cosine)
    return cosine, sine


BUILDERS: Final[Builders] = {
    dialect.Fft: _fft,
    dialect.Cholesky: _cholesky,
    dialect.TriangularSolve: _triangular_solve,
}
