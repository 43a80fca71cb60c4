"""The kernels of floating-point elements: the exact ones and the fast ones.

They take f64, f32, f16 and bf16. The exact ones are correctly rounded, all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import arithmetic, maps
from topos.payload.kernels.conversion import promoted, rounded
from topos.payload.kernels.mapping import mapped
from topos.payload.kernels.maps_approximate import approximate_erf
from topos.payload.kernels.power import power
from topos.runtimes.interpreter.program import Kernel
from topos.runtimes.interpreter.special.angle import CBRT, atan2
from topos.runtimes.interpreter.special.circular import TAN

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


EXACT: Final[Mapping[str, Kernel]] = {
    "chlo.erf": maps.erf,
    "chlo.square": _square,
    "stablehlo.abs": arithmetic.absolute,
    "stablehlo.add": arithmetic.add,
    "stablehlo.atan2": atan2,
    "stablehlo.cbrt": partial(mapped, CBRT),
    "stablehlo.ceil": partial(_rounding, np.ceil),
    "stablehlo.cosine": maps.cos,
    "stablehlo.divide": arithmetic.divide,
    "stablehlo.exponential": maps.exp,
    "stablehlo.exponential_minus_one": maps.expm1,
    "stablehlo.floor": partial(_rounding, np.floor),
    "stablehlo.log": maps.ln,
    "stablehlo.log_plus_one": maps.log1p,
    "stablehlo.logistic": maps.logistic,
    "stablehlo.maximum": arithmetic.maximum,
    "stablehlo.minimum": arithmetic.minimum,
    "stablehlo.multiply": arithmetic.multiply,
    "stablehlo.negate": arithmetic.negate,
    "stablehlo.power": power,
    "stablehlo.remainder": _remainder,
    "stablehlo.round_nearest_afz": _round_away,
    "stablehlo.round_nearest_even": partial(_rounding, np.rint),
    "stablehlo.rsqrt": maps.rsqrt,
    "stablehlo.sign": _sign,
    "stablehlo.sine": maps.sin,
    "stablehlo.sqrt": maps.sqrt,
    "stablehlo.subtract": arithmetic.subtract,
    "stablehlo.tan": partial(mapped, TAN),
    "stablehlo.tanh": maps.tanh,
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


FAST: Final[Mapping[str, Kernel]] = {
    "chlo.erf": _fast_erf,
    "chlo.square": np.square,
    "stablehlo.abs": np.absolute,
    "stablehlo.add": np.add,
    "stablehlo.atan2": np.arctan2,
    "stablehlo.cbrt": np.cbrt,
    "stablehlo.ceil": np.ceil,
    "stablehlo.cosine": np.cos,
    "stablehlo.divide": np.divide,
    "stablehlo.exponential": np.exp,
    "stablehlo.exponential_minus_one": np.expm1,
    "stablehlo.floor": np.floor,
    "stablehlo.log": np.log,
    "stablehlo.log_plus_one": np.log1p,
    "stablehlo.logistic": _fast_logistic,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.multiply": np.multiply,
    "stablehlo.negate": np.negative,
    "stablehlo.power": np.power,
    "stablehlo.remainder": np.fmod,
    "stablehlo.round_nearest_afz": _round_away,
    "stablehlo.round_nearest_even": np.rint,
    "stablehlo.rsqrt": _fast_rsqrt,
    "stablehlo.sign": np.sign,
    "stablehlo.sine": np.sin,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.subtract": np.subtract,
    "stablehlo.tan": np.tan,
    "stablehlo.tanh": np.tanh,
}
# Of 16 bits the oracle's maps are tables. No computation in bf16 is faster; in f16 some may be.
_TABLES: Final = ("chlo.erf", "stablehlo.cosine", "stablehlo.logistic", "stablehlo.rsqrt")
_MORE_TABLES: Final = (
    "stablehlo.exponential",
    "stablehlo.exponential_minus_one",
    "stablehlo.log",
    "stablehlo.log_plus_one",
    "stablehlo.sine",
    "stablehlo.tanh",
)
FAST_F16: Final[Mapping[str, Kernel]] = {**FAST, **{name: EXACT[name] for name in _TABLES}}
FAST_BF16: Final[Mapping[str, Kernel]] = {
    **FAST_F16,
    **{name: EXACT[name] for name in _MORE_TABLES},
}
