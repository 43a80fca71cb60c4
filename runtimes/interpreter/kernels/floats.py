"""The kernels of floating-point elements: the exact ones and the fast ones.

They take f64, f32, f16 and bf16. The exact ones are correctly rounded, all of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import arithmetic, maps
from topos.payload.kernels.conversion import promoted, rounded
from topos.payload.kernels.mapping import mapped
from topos.payload.kernels.maps_approximate import approximate_erf
from topos.payload.kernels.power import power
from topos.runtimes.interpreter.program import Kernels
from topos.runtimes.interpreter.special.angle import CBRT, atan2
from topos.runtimes.interpreter.special.circular import TAN
from topos.stablehlo.dialect import chlo_functions, elementwise, functions

__all__ = ["EXACT", "FAST", "FAST_BF16", "FAST_F16"]

Array = npt.NDArray[Any]


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


def _square(array: Array) -> Array:
    return arithmetic.multiply(array, array)


EXACT: Final[Kernels] = {
    chlo_functions.Erf: maps.erf,
    chlo_functions.Square: _square,
    elementwise.Abs: arithmetic.absolute,
    elementwise.Add: arithmetic.add,
    elementwise.Atan2: atan2,
    functions.Cbrt: partial(mapped, CBRT),
    elementwise.Ceil: partial(_rounding, np.ceil),
    functions.Cosine: maps.cos,
    elementwise.Divide: arithmetic.divide,
    functions.Exponential: maps.exp,
    functions.ExponentialMinusOne: maps.expm1,
    elementwise.Floor: partial(_rounding, np.floor),
    functions.Log: maps.ln,
    functions.LogPlusOne: maps.log1p,
    functions.Logistic: maps.logistic,
    elementwise.Maximum: arithmetic.maximum,
    elementwise.Minimum: arithmetic.minimum,
    elementwise.Multiply: arithmetic.multiply,
    elementwise.Negate: arithmetic.negate,
    elementwise.Power: power,
    elementwise.Remainder: _remainder,
    elementwise.RoundNearestAfz: _round_away,
    elementwise.RoundNearestEven: partial(_rounding, np.rint),
    functions.Rsqrt: maps.rsqrt,
    elementwise.Sign: _sign,
    functions.Sine: maps.sin,
    functions.Sqrt: maps.sqrt,
    elementwise.Subtract: arithmetic.subtract,
    functions.Tan: partial(mapped, TAN),
    functions.Tanh: maps.tanh,
}


def _fast_logistic(array: Array) -> Array:
    growth = np.exp(-array)
    growth += array.dtype.type(1)
    return np.asarray(np.reciprocal(growth))


def _fast_rsqrt(array: Array) -> Array:
    return np.asarray(np.reciprocal(np.sqrt(array)))


def _fast_erf(array: Array) -> Array:
    if array.dtype == np.float64:
        return maps.erf(array)
    return approximate_erf(array.astype(np.float64)).astype(array.dtype)


FAST: Final[Kernels] = {
    chlo_functions.Erf: _fast_erf,
    chlo_functions.Square: np.square,
    elementwise.Abs: np.absolute,
    elementwise.Add: np.add,
    elementwise.Atan2: np.arctan2,
    functions.Cbrt: np.cbrt,
    elementwise.Ceil: np.ceil,
    functions.Cosine: np.cos,
    elementwise.Divide: np.divide,
    functions.Exponential: np.exp,
    functions.ExponentialMinusOne: np.expm1,
    elementwise.Floor: np.floor,
    functions.Log: np.log,
    functions.LogPlusOne: np.log1p,
    functions.Logistic: _fast_logistic,
    elementwise.Maximum: np.maximum,
    elementwise.Minimum: np.minimum,
    elementwise.Multiply: np.multiply,
    elementwise.Negate: np.negative,
    elementwise.Power: np.power,
    elementwise.Remainder: np.fmod,
    elementwise.RoundNearestAfz: _round_away,
    elementwise.RoundNearestEven: np.rint,
    functions.Rsqrt: _fast_rsqrt,
    elementwise.Sign: np.sign,
    functions.Sine: np.sin,
    functions.Sqrt: np.sqrt,
    elementwise.Subtract: np.subtract,
    functions.Tan: np.tan,
    functions.Tanh: np.tanh,
}
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
FAST_BF16: Final[Kernels] = {
    **FAST_F16,
    **{name: EXACT[name] for name in _MORE_TABLES},
}
