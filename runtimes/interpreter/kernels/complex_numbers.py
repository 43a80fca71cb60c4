"""Complex elements: their kernels, exact and fast, and the operations that only they have."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels.rounding import FORMATS
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.program import Kernel, Kernels
from topos.runtimes.interpreter.special import complex_arithmetic
from topos.runtimes.interpreter.special import complex_functions as maps
from topos.runtimes.interpreter.special.complex_parts import binary, split, unary
from topos.runtimes.interpreter.special.modulus import hypot
from topos.stablehlo.dialect import chlo_functions, complex_numbers, elementwise, functions
from topos.stablehlo.types import dtype_of, is_complex

__all__ = ["BUILDERS", "EXACT", "FAST"]

Array = npt.NDArray[Any]


def _modulus(array: Array) -> Array:
    """Returns |z| correctly rounded, infinite where either part is, even beside a NaN."""
    return hypot(*split(array), FORMATS[array.real.dtype]).reshape(array.shape)


def _square(array: Array) -> Array:
    """Returns (x - y)(x + y) + 2ixy, in which nothing overflows that the result does not."""
    return unary(complex_arithmetic.square, array)


# The order is that of the real parts, then of the imaginary ones; a NaN goes before any number.
EXACT: Final[Kernels] = {
    chlo_functions.Square: _square,
    elementwise.Abs: _modulus,
    elementwise.Add: partial(binary, complex_arithmetic.add),
    elementwise.Atan2: partial(binary, maps.atan2),
    functions.Cbrt: partial(unary, complex_arithmetic.cbrt),
    functions.Cosine: partial(unary, maps.cos),
    elementwise.Divide: partial(binary, complex_arithmetic.divide),
    functions.Exponential: partial(unary, maps.exp),
    functions.ExponentialMinusOne: partial(unary, maps.expm1),
    functions.Log: partial(unary, maps.log),
    functions.LogPlusOne: partial(unary, maps.log1p),
    functions.Logistic: partial(unary, maps.logistic),
    elementwise.Maximum: np.maximum,
    elementwise.Minimum: np.minimum,
    elementwise.Multiply: partial(binary, complex_arithmetic.multiply),
    elementwise.Negate: partial(unary, complex_arithmetic.negate),
    elementwise.Power: partial(binary, maps.power),
    functions.Rsqrt: partial(unary, complex_arithmetic.rsqrt),
    elementwise.Sign: partial(unary, complex_arithmetic.sign),
    functions.Sine: partial(unary, maps.sin),
    functions.Sqrt: partial(unary, complex_arithmetic.sqrt),
    elementwise.Subtract: partial(binary, complex_arithmetic.subtract),
    functions.Tan: partial(unary, maps.tan),
    functions.Tanh: partial(unary, maps.tanh),
}


def _fast_log1p(array: Array) -> Array:
    result = np.asarray(np.log(1 + array))
    x, y = array.real, array.imag
    # Near zero 1 + z would lose the digits that count.
    small = np.maximum(np.abs(x), np.abs(y)) < 16
    near = np.log1p(x * (2 + x) + y * y) * x.dtype.type(0.5)
    result.real = np.where(small, near, result.real)
    return result


def _fast_logistic(array: Array) -> Array:
    # Where e**-z overflows the result is e**z.
    result = 1 / (1 + np.exp(-array))
    return np.where(array.real < -40, np.exp(array), result)


def _fast_rsqrt(array: Array) -> Array:
    return np.asarray(np.reciprocal(np.sqrt(array)))


# numpy's own where it has the operation with the same meaning.
FAST: Final[Kernels] = {
    **EXACT,
    chlo_functions.Square: np.square,
    elementwise.Abs: np.absolute,
    elementwise.Add: np.add,
    functions.Cosine: np.cos,
    elementwise.Divide: np.divide,
    functions.Exponential: np.exp,
    functions.ExponentialMinusOne: np.expm1,
    functions.Log: np.log,
    functions.LogPlusOne: _fast_log1p,
    functions.Logistic: _fast_logistic,
    elementwise.Multiply: np.multiply,
    elementwise.Negate: np.negative,
    elementwise.Power: np.power,
    functions.Rsqrt: _fast_rsqrt,
    elementwise.Sign: np.sign,
    functions.Sine: np.sin,
    functions.Sqrt: np.sqrt,
    elementwise.Subtract: np.subtract,
    functions.Tan: np.tan,
    functions.Tanh: np.tanh,
}


def _real(context: BuildContext[Any]) -> Kernel:
    return _real_part if is_complex(context.operands[0]) else _unchanged


def _imag(context: BuildContext[Any]) -> Kernel:
    return _imaginary_part if is_complex(context.operands[0]) else np.zeros_like


def _unchanged(array: Array) -> Array:
    return array


def _real_part(array: Array) -> Array:
    return np.asarray(array.real)


def _imaginary_part(array: Array) -> Array:
    return np.asarray(array.imag)


def _complex(context: BuildContext[Any]) -> Kernel:
    return partial(_joined, dtype_of(context.results[0]))


def _joined(dtype: np.dtype[Any], real: Array, imaginary: Array) -> Array:
    result = np.empty(real.shape, dtype)
    result.real, result.imag = real, imaginary
    return result


BUILDERS: Final[Builders] = {
    complex_numbers.Complex: _complex,
    complex_numbers.Imag: _imag,
    complex_numbers.Real: _real,
}
