"""Maps: the elementary functions of one tensor, correctly rounded in every element.

Every function takes float64, float32, float16 or bfloat16 values of any shape and strides and
returns a new C-contiguous array of their shape and dtype: in each element the number nearest to
the exact result, ties to even, over the whole range. Special values follow IEEE 754-2019 clause
9.2; every NaN result is the canonical quiet NaN. Each raises `ElementError` for other dtypes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError
from topos.payload.kernels import (
    exact,
    maps_approximate,
    maps_circular,
    maps_expansion,
    maps_exponential,
    maps_logarithm,
    maps_narrow,
    maps_root,
    maps_wide,
    refined_circular,
    refined_expansion,
    refined_exponential,
    refined_logarithm,
)
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.rounding import BINARY32, BINARY64, FORMATS, Format

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


class _Map(NamedTuple):
    exact: exact.ExactMap
    approximate: maps_narrow.Approximation
    quick: maps_wide.Bracket
    refined: maps_wide.Bracket


_EXP: Final = _Map(exact.EXP, np.exp, maps_exponential.bracket_exp, refined_exponential.refined_exp)
_EXPM1: Final = _Map(
    exact.EXPM1, np.expm1, maps_exponential.bracket_expm1, refined_exponential.refined_expm1
)
_LN: Final = _Map(exact.LN, np.log, maps_logarithm.bracket_ln, refined_logarithm.refined_ln)
_LOG1P: Final = _Map(
    exact.LOG1P, np.log1p, maps_logarithm.bracket_log1p, refined_logarithm.refined_log1p
)
_TANH: Final = _Map(
    exact.TANH, np.tanh, maps_expansion.bracket_tanh, refined_exponential.refined_tanh
)
_LOGISTIC: Final = _Map(
    exact.LOGISTIC,
    maps_approximate.approximate_logistic,
    maps_exponential.bracket_logistic,
    refined_exponential.refined_logistic,
)
_SIN: Final = _Map(
    exact.SIN,
    maps_approximate.approximate_sin,
    maps_circular.bracket_sin,
    refined_circular.refined_sin,
)
_COS: Final = _Map(
    exact.COS,
    maps_approximate.approximate_cos,
    maps_circular.bracket_cos,
    refined_circular.refined_cos,
)
_ERF: Final = _Map(
    exact.ERF,
    maps_approximate.approximate_erf,
    maps_expansion.bracket_erf,
    refined_expansion.refined_erf,
)
# Its one bracket is within 2**-98 already.
_RSQRT: Final = _Map(
    exact.RSQRT,
    maps_approximate.approximate_rsqrt,
    maps_root.bracket_rsqrt,
    maps_root.bracket_rsqrt,
)


def exp(values: npt.ArrayLike) -> Array:
    """Returns e**x, correctly rounded; +0 at -inf."""
    return _mapped(_EXP, values)


def expm1(values: npt.ArrayLike) -> Array:
    """Returns e**x - 1, correctly rounded; -1 at -inf, and a zero keeps its sign."""
    return _mapped(_EXPM1, values)


def ln(values: npt.ArrayLike) -> Array:
    """Returns the natural logarithm, correctly rounded; -inf at both zeros, NaN below them."""
    return _mapped(_LN, values)


def log1p(values: npt.ArrayLike) -> Array:
    """Returns ln(1 + x), correctly rounded; -inf at -1, NaN below, and a zero keeps its sign."""
    return _mapped(_LOG1P, values)


def tanh(values: npt.ArrayLike) -> Array:
    """Returns the hyperbolic tangent, correctly rounded; a zero keeps its sign."""
    return _mapped(_TANH, values)


def logistic(values: npt.ArrayLike) -> Array:
    """Returns 1 / (1 + e**-x), correctly rounded as a whole; +0 at -inf."""
    return _mapped(_LOGISTIC, values)


def sin(values: npt.ArrayLike) -> Array:
    """Returns the sine, correctly rounded; NaN at both infinities, and a zero keeps its sign."""
    return _mapped(_SIN, values)


def cos(values: npt.ArrayLike) -> Array:
    """Returns the cosine, correctly rounded; NaN at both infinities."""
    return _mapped(_COS, values)


def erf(values: npt.ArrayLike) -> Array:
    """Returns the error function, correctly rounded; a zero keeps its sign.

    It is 2/sqrt(pi) times the integral of e**(-t*t) from 0 to x.
    """
    return _mapped(_ERF, values)


def rsqrt(values: npt.ArrayLike) -> Array:
    """Returns 1 / sqrt(x), correctly rounded as a whole; -inf at -0, NaN below, +0 at +inf."""
    return _mapped(_RSQRT, values)


def sqrt(values: npt.ArrayLike) -> Array:
    """Returns the square root, correctly rounded; -0 at -0, NaN below."""
    array = np.asarray(values)
    target = _format("sqrt", array)
    with np.errstate(all="ignore"):
        # Through float32, 16-bit roots round twice, which is harmless at 24 >= 2 * 11 + 2 bits.
        wide = array if target in (BINARY64, BINARY32) else array.astype(np.float32)
        result = np.sqrt(wide).astype(target.dtype)
    return canonical(np.ascontiguousarray(result).reshape(array.shape))


def _format(name: str, array: Array) -> Format:
    try:
        return FORMATS[array.dtype]
    except KeyError:
        raise ElementError(f"{name} needs f64, f32, f16 or bf16, got {array.dtype}") from None


def _mapped(each: _Map, values: npt.ArrayLike) -> Array:
    array = np.asarray(values)
    target = _format(each.exact.name, array)
    flat = np.ascontiguousarray(array).reshape(-1)
    with np.errstate(all="ignore"):
        result = _flat(each, flat, target)
    return result.reshape(array.shape)


def _flat(each: _Map, flat: Array, target: Format) -> Array:
    if target is BINARY32:
        return maps_narrow.single(each.exact, each.approximate, flat)
    if target is BINARY64:
        return maps_wide.double(each.exact, each.quick, each.refined, flat)
    return maps_narrow.table(each.exact, each.approximate, target).take(flat.view(np.uint16))
