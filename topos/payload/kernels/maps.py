"""Maps: the elementary functions of one tensor, correctly rounded in every element.

Every function takes float64, float32, float16 or bfloat16 values of any shape and strides and
returns a new C-contiguous array of their shape and dtype: in each element the number nearest to
the exact result, ties to even, over the whole range. Special values follow IEEE 754-2019 clause
9.2; every NaN result is the canonical quiet NaN. Each raises `ElementError` for other dtypes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import (
    exact,
    maps_approximate,
    maps_circular,
    maps_expansion,
    maps_exponential,
    maps_logarithm,
    maps_root,
    refined_circular,
    refined_expansion,
    refined_exponential,
    refined_logarithm,
)
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.mapping import Map, format_of, mapped
from topos.payload.kernels.rounding import BINARY32, BINARY64

__all__ = [
    "cos",
    "erf",
    "exp",
    "expm1",
    "ln",
    "log1p",
    "logistic",
    "rsqrt",
    "sin",
    "sqrt",
    "tanh",
]


_EXP: Final = Map(exact.EXP, np.exp, maps_exponential.bracket_exp, refined_exponential.refined_exp)
_EXPM1: Final = Map(
    exact.EXPM1, np.expm1, maps_exponential.bracket_expm1, refined_exponential.refined_expm1
)
_LN: Final = Map(exact.LN, np.log, maps_logarithm.bracket_ln, refined_logarithm.refined_ln)
_LOG1P: Final = Map(
    exact.LOG1P, np.log1p, maps_logarithm.bracket_log1p, refined_logarithm.refined_log1p
)
_TANH: Final = Map(
    exact.TANH, np.tanh, maps_expansion.bracket_tanh, refined_exponential.refined_tanh
)
_LOGISTIC: Final = Map(
    exact.LOGISTIC,
    maps_approximate.approximate_logistic,
    maps_exponential.bracket_logistic,
    refined_exponential.refined_logistic,
)
_SIN: Final = Map(
    exact.SIN,
    maps_approximate.approximate_sin,
    maps_circular.bracket_sin,
    refined_circular.refined_sin,
)
_COS: Final = Map(
    exact.COS,
    maps_approximate.approximate_cos,
    maps_circular.bracket_cos,
    refined_circular.refined_cos,
)
_ERF: Final = Map(
    exact.ERF,
    maps_approximate.approximate_erf,
    maps_expansion.bracket_erf,
    refined_expansion.refined_erf,
)
# Its one bracket is within 2**-98 already.
_RSQRT: Final = Map(
    exact.RSQRT,
    maps_approximate.approximate_rsqrt,
    maps_root.bracket_rsqrt,
    maps_root.bracket_rsqrt,
)


def exp(values: npt.ArrayLike) -> Array:
    """Returns e**x, correctly rounded; +0 at -inf."""
    return mapped(_EXP, values)


def expm1(values: npt.ArrayLike) -> Array:
    """Returns e**x - 1, correctly rounded; -1 at -inf, and a zero keeps its sign."""
    return mapped(_EXPM1, values)


def ln(values: npt.ArrayLike) -> Array:
    """Returns the natural logarithm, correctly rounded; -inf at both zeros, NaN below them."""
    return mapped(_LN, values)


def log1p(values: npt.ArrayLike) -> Array:
    """Returns ln(1 + x), correctly rounded; -inf at -1, NaN below, and a zero keeps its sign."""
    return mapped(_LOG1P, values)


def tanh(values: npt.ArrayLike) -> Array:
    """Returns the hyperbolic tangent, correctly rounded; a zero keeps its sign."""
    return mapped(_TANH, values)


def logistic(values: npt.ArrayLike) -> Array:
    """Returns 1 / (1 + e**-x), correctly rounded as a whole; +0 at -inf."""
    return mapped(_LOGISTIC, values)


def sin(values: npt.ArrayLike) -> Array:
    """Returns the sine, correctly rounded; NaN at both infinities, and a zero keeps its sign."""
    return mapped(_SIN, values)


def cos(values: npt.ArrayLike) -> Array:
    """Returns the cosine, correctly rounded; NaN at both infinities."""
    return mapped(_COS, values)


def erf(values: npt.ArrayLike) -> Array:
    """Returns the error function, correctly rounded; a zero keeps its sign.

    It is 2/sqrt(pi) times the integral of e**(-t*t) from 0 to x.
    """
    return mapped(_ERF, values)


def rsqrt(values: npt.ArrayLike) -> Array:
    """Returns 1 / sqrt(x), correctly rounded as a whole; -inf at -0, NaN below, +0 at +inf."""
    return mapped(_RSQRT, values)


def sqrt(values: npt.ArrayLike) -> Array:
    """Returns the square root, correctly rounded; -0 at -0, NaN below."""
    array = np.asarray(values)
    target = format_of("sqrt", array)
    with np.errstate(all="ignore"):
        # Through float32, 16-bit roots round twice, which is harmless at 24 >= 2 * 11 + 2 bits.
        wide = array if target in (BINARY64, BINARY32) else array.astype(np.float32)
        result = np.sqrt(wide).astype(target.dtype)
    return canonical(np.ascontiguousarray(result).reshape(array.shape))
