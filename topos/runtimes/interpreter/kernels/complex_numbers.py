"""Complex elements: their kernels, exact and fast, and the operations that only they have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import attrgetter
from typing import Final

import numpy as np

from topos.payload.kernels import fast
from topos.payload.kernels.rounding import FORMATS
from topos.runtimes.interpreter.context import Builders, unchanged
from topos.runtimes.interpreter.program import Array, Kernel, Kernels
from topos.runtimes.interpreter.special import complex_arithmetic
from topos.runtimes.interpreter.special import complex_functions as maps
from topos.runtimes.interpreter.special.angle import hypot
from topos.runtimes.interpreter.special.complex_arithmetic import binary, split, unary
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import chlo_functions, complex_numbers, elementwise, functions
from topos.stablehlo.types import dtype_of, is_complex


def _modulus(array: Array) -> Array:
    """Returns |z| correctly rounded, infinite where either part is, even beside a NaN."""
    return hypot(*split(array), FORMATS[array.real.dtype]).reshape(array.shape)


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


# Each with its exact kernel, and numpy's own where it has the operation with the same meaning. The
# order is that of the real parts, then of the imaginary ones; a NaN goes before any number.
_KERNELS: Final[Mapping[type[Definition], tuple[Kernel, Kernel | None]]] = {
    chlo_functions.Square: (partial(unary, complex_arithmetic.square), np.square),
    elementwise.Abs: (_modulus, np.absolute),
    elementwise.Add: (partial(binary, complex_arithmetic.add), np.add),
    elementwise.Atan2: (partial(binary, maps.atan2), None),
    functions.Cbrt: (partial(unary, complex_arithmetic.cbrt), None),
    functions.Cosine: (partial(unary, maps.cos), np.cos),
    elementwise.Divide: (partial(binary, complex_arithmetic.divide), np.divide),
    functions.Exponential: (partial(unary, maps.exp), np.exp),
    functions.ExponentialMinusOne: (partial(unary, maps.expm1), np.expm1),
    functions.Log: (partial(unary, maps.log), np.log),
    functions.LogPlusOne: (partial(unary, maps.log1p), _fast_log1p),
    functions.Logistic: (partial(unary, maps.logistic), _fast_logistic),
    elementwise.Maximum: (np.maximum, None),
    elementwise.Minimum: (np.minimum, None),
    elementwise.Multiply: (partial(binary, complex_arithmetic.multiply), np.multiply),
    elementwise.Negate: (partial(unary, complex_arithmetic.negate), np.negative),
    elementwise.Power: (partial(binary, maps.power), np.power),
    functions.Rsqrt: (partial(unary, complex_arithmetic.rsqrt), fast.rsqrt),
    elementwise.Sign: (partial(unary, complex_arithmetic.sign), np.sign),
    functions.Sine: (partial(unary, maps.sin), np.sin),
    functions.Sqrt: (partial(unary, complex_arithmetic.sqrt), np.sqrt),
    elementwise.Subtract: (partial(binary, complex_arithmetic.subtract), np.subtract),
    functions.Tan: (partial(unary, maps.tan), np.tan),
    functions.Tanh: (partial(unary, maps.tanh), np.tanh),
}
EXACT: Final[Kernels] = {name: exact for name, (exact, _) in _KERNELS.items()}
FAST: Final[Kernels] = {name: quick or exact for name, (exact, quick) in _KERNELS.items()}


BUILDERS: Final[Builders] = {
    complex_numbers.Complex: lambda context: partial(
        complex_arithmetic.complex_of, dtype=dtype_of(context.results[0])
    ),
    complex_numbers.Imag: lambda context: (
        attrgetter("imag") if is_complex(context.operands[0]) else np.zeros_like
    ),
    complex_numbers.Real: lambda context: (
        attrgetter("real") if is_complex(context.operands[0]) else unchanged
    ),
}
