"""The kernels of floating-point elements: the exact ones and the fast ones.

They take f64, f32, f16 and bf16. The exact ones are correctly rounded, all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import numpy as np

from topos.payload.kernels import arithmetic, fast, fast_error_functions, maps
from topos.payload.kernels.conversion import promoted, rounded
from topos.payload.kernels.mapping import mapped
from topos.payload.kernels.power import power
from topos.runtimes.interpreter.program import Array, Kernel, Kernels
from topos.runtimes.interpreter.special.angle import CBRT, atan2
from topos.runtimes.interpreter.special.curves import TAN
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import chlo_functions, elementwise, functions


def _sign(array: Array) -> Array:
    """Returns 1 with the sign of each number; zeros and NaN are their own sign."""
    value = promoted(array)
    whole = (value == 0) | (value != value)
    return rounded(np.where(whole, value, np.copysign(value.dtype.type(1), value)), array.dtype)


def _rounding(ufunc: np.ufunc, array: Array) -> Array:
    return rounded(ufunc(promoted(array)), array.dtype)


def _round_away(array: Array) -> Array:
    """Returns the nearest integer, halves away from zero."""
    value = promoted(array)
    # Adding the number below one half, not one half, keeps what lies just below a half there.
    half = np.nextafter(value.dtype.type(0.5), value.dtype.type(0))
    return rounded(np.trunc(value + np.copysign(half, value)), array.dtype)


def _remainder(left: Array, right: Array) -> Array:
    """Returns what truncating division leaves; it has the sign of `left` and is exact."""
    return rounded(np.fmod(promoted(left), promoted(right)), left.dtype)


# Each with its exact kernel and its fast one.
_KERNELS: Final[Mapping[type[Definition], tuple[Kernel, Kernel]]] = {
    chlo_functions.Erf: (maps.erf, fast_error_functions.erf),
    chlo_functions.Square: (lambda array: arithmetic.multiply(array, array), np.square),
    elementwise.Abs: (arithmetic.absolute, np.absolute),
    elementwise.Add: (arithmetic.add, np.add),
    elementwise.Atan2: (atan2, np.arctan2),
    functions.Cbrt: (partial(mapped, CBRT), np.cbrt),
    elementwise.Ceil: (partial(_rounding, np.ceil), np.ceil),
    functions.Cosine: (maps.cos, np.cos),
    elementwise.Divide: (arithmetic.divide, np.divide),
    functions.Exponential: (maps.exp, np.exp),
    functions.ExponentialMinusOne: (maps.expm1, np.expm1),
    elementwise.Floor: (partial(_rounding, np.floor), np.floor),
    functions.Log: (maps.ln, np.log),
    functions.LogPlusOne: (maps.log1p, np.log1p),
    functions.Logistic: (maps.logistic, fast.logistic),
    elementwise.Maximum: (arithmetic.maximum, np.maximum),
    elementwise.Minimum: (arithmetic.minimum, np.minimum),
    elementwise.Multiply: (arithmetic.multiply, np.multiply),
    elementwise.Negate: (arithmetic.negate, np.negative),
    elementwise.Power: (power, np.power),
    elementwise.Remainder: (_remainder, np.fmod),
    elementwise.RoundNearestAfz: (_round_away, _round_away),
    elementwise.RoundNearestEven: (partial(_rounding, np.rint), np.rint),
    functions.Rsqrt: (maps.rsqrt, fast.rsqrt),
    elementwise.Sign: (_sign, np.sign),
    functions.Sine: (maps.sin, np.sin),
    functions.Sqrt: (maps.sqrt, np.sqrt),
    elementwise.Subtract: (arithmetic.subtract, np.subtract),
    functions.Tan: (partial(mapped, TAN), np.tan),
    functions.Tanh: (maps.tanh, np.tanh),
}
EXACT: Final[Kernels] = {name: exact for name, (exact, _) in _KERNELS.items()}
FAST: Final[Kernels] = {name: quick for name, (_, quick) in _KERNELS.items()}
# Of 16 bits the oracle's maps are tables. No computation in bf16 is faster; in f16 some may be.
_TABLES: Final = (chlo_functions.Erf, functions.Cosine, functions.Logistic, functions.Rsqrt)
_MORE_TABLES: Final = (
    functions.Exponential,
    functions.ExponentialMinusOne,
    functions.Log,
    functions.LogPlusOne,
    functions.Sine,
    functions.Tanh,
)
FAST_F16: Final[Kernels] = {**FAST, **{name: EXACT[name] for name in _TABLES}}
FAST_BF16: Final[Kernels] = {**FAST_F16, **{name: EXACT[name] for name in _MORE_TABLES}}
