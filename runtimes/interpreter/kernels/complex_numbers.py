"""Complex elements: their kernels, exact and fast, and the operations that only they have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels.rounding import FORMATS
from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels import (
    complex_circular,
    complex_exponential,
    complex_logarithm,
)
from topos.runtimes.interpreter.program import Kernel
from topos.runtimes.interpreter.special import complex_arithmetic
from topos.runtimes.interpreter.special.complex_parts import binary, split, unary
from topos.runtimes.interpreter.special.modulus import hypot
from topos.stablehlo.types import dtype_of, is_complex

__all__ = ["BUILDERS", "ELEMENTWISE", "EXACT", "FAST"]

Array = npt.NDArray[Any]


def _modulus(array: Array) -> Array:
    """Returns |z| correctly rounded, infinite where either part is, even beside a NaN."""
    return hypot(*split(array), FORMATS[array.real.dtype]).reshape(array.shape)


def _square(array: Array) -> Array:
    """Returns (x - y)(x + y) + 2ixy, in which nothing overflows that the result does not."""
    return unary(complex_arithmetic.square, array)


# The order is that of the real parts, then of the imaginary ones; a NaN goes before any number.
EXACT: Final[Mapping[str, Kernel]] = {
    "chlo.square": _square,
    "stablehlo.abs": _modulus,
    "stablehlo.add": partial(binary, complex_arithmetic.add),
    "stablehlo.atan2": partial(binary, complex_circular.atan2),
    "stablehlo.cbrt": partial(unary, complex_arithmetic.cbrt),
    "stablehlo.cosine": partial(unary, complex_circular.cos),
    "stablehlo.divide": partial(binary, complex_arithmetic.divide),
    "stablehlo.exponential": partial(unary, complex_exponential.exp),
    "stablehlo.exponential_minus_one": partial(unary, complex_exponential.expm1),
    "stablehlo.log": partial(unary, complex_logarithm.log),
    "stablehlo.log_plus_one": partial(unary, complex_logarithm.log1p),
    "stablehlo.logistic": partial(unary, complex_exponential.logistic),
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.multiply": partial(binary, complex_arithmetic.multiply),
    "stablehlo.negate": partial(unary, complex_arithmetic.negate),
    "stablehlo.power": partial(binary, complex_exponential.power),
    "stablehlo.rsqrt": partial(unary, complex_arithmetic.rsqrt),
    "stablehlo.sign": partial(unary, complex_arithmetic.sign),
    "stablehlo.sine": partial(unary, complex_circular.sin),
    "stablehlo.sqrt": partial(unary, complex_arithmetic.sqrt),
    "stablehlo.subtract": partial(binary, complex_arithmetic.subtract),
    "stablehlo.tan": partial(unary, complex_circular.tan),
    "stablehlo.tanh": partial(unary, complex_circular.tanh),
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
FAST: Final[Mapping[str, Kernel]] = {
    **EXACT,
    "chlo.square": np.square,
    "stablehlo.abs": np.absolute,
    "stablehlo.add": np.add,
    "stablehlo.cosine": np.cos,
    "stablehlo.divide": np.divide,
    "stablehlo.exponential": np.exp,
    "stablehlo.exponential_minus_one": np.expm1,
    "stablehlo.log": np.log,
    "stablehlo.log_plus_one": _fast_log1p,
    "stablehlo.logistic": _fast_logistic,
    "stablehlo.multiply": np.multiply,
    "stablehlo.negate": np.negative,
    "stablehlo.power": np.power,
    "stablehlo.rsqrt": _fast_rsqrt,
    "stablehlo.sign": np.sign,
    "stablehlo.sine": np.sin,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.subtract": np.subtract,
    "stablehlo.tan": np.tan,
    "stablehlo.tanh": np.tanh,
}


def _real(context: BuildContext) -> Kernel:
    return _real_part if is_complex(context.operands[0]) else _unchanged


def _imag(context: BuildContext) -> Kernel:
    return _imaginary_part if is_complex(context.operands[0]) else np.zeros_like


def _unchanged(array: Array) -> Array:
    return array


def _real_part(array: Array) -> Array:
    return np.asarray(array.real)


def _imaginary_part(array: Array) -> Array:
    return np.asarray(array.imag)


def _complex(context: BuildContext) -> Kernel:
    return partial(_joined, dtype_of(context.results[0]))


def _joined(dtype: np.dtype[Any], real: Array, imaginary: Array) -> Array:
    result = np.empty(real.shape, dtype)
    result.real, result.imag = real, imaginary
    return result


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.complex": _complex,
    "stablehlo.imag": _imag,
    "stablehlo.real": _real,
}
