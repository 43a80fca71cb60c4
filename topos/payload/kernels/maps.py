"""Maps: the elementary functions of one tensor, correctly rounded in every element.

Every function takes float64, float32, float16 or bfloat16 values of any shape and strides and
returns a new C-contiguous array of their shape and dtype: in each element the number nearest to
the exact result, ties to even, over the whole range. Special values follow IEEE 754-2019 clause
9.2; every NaN result is the canonical quiet NaN. Each raises `ElementError` for other dtypes.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import circular, exact, expansion, exponential, logarithm
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.double_double import two_product
from topos.payload.kernels.mapping import Ends, Map, ends, format_of, mapped, patch
from topos.payload.kernels.rounding import BINARY32, BINARY64


def approximate_logistic(values: Array) -> Array:
    """Returns 1 / (1 + e**-x) within 2**-46; three roundings atop those of exp."""
    growth = np.exp(-values)
    growth += 1.0
    return np.divide(1.0, growth, out=growth)


def approximate_rsqrt(values: Array) -> Array:
    """Returns 1 / sqrt(x) within 2**-46; two roundings, and -inf at -0."""
    root = np.sqrt(values)
    return np.divide(1.0, root, out=root)


def bracket_rsqrt(values: Array) -> Ends:
    """Encloses 1 / sqrt(x) by one Newton step from y = 1 / sqrt(x), itself within 3 u.

    With d = 1 - x y*y, exact but for u d, the result is y (1 + d/2) within d*d.
    """
    zoom = np.where(values < 2.0**-400, 2.0**600, np.where(values > 2.0**400, 2.0**-600, 1.0))
    inside = values * zoom
    estimate = 1.0 / np.sqrt(inside)
    square, lost = two_product(estimate, estimate)
    product, rest = two_product(inside, square)
    defect = (1.0 - product) - (rest + inside * lost)
    low, high = ends(estimate, estimate * (0.5 * defect), estimate * 2.0**-98)
    root = np.sqrt(zoom)
    edge = (values == 0.0) | (values == np.inf)
    both = low * root, high * root
    return patch(both, edge, approximate_rsqrt(values[edge])) if edge.any() else both


MAPS: Final[dict[str, Map]] = {
    each.exact.name: each
    for each in (
        Map(exact.EXP, np.exp, exponential.bracket_exp, exponential.refined_exp),
        Map(exact.EXPM1, np.expm1, exponential.bracket_expm1, exponential.refined_expm1),
        Map(exact.LN, np.log, logarithm.bracket_ln, logarithm.refined_ln),
        Map(exact.LOG1P, np.log1p, logarithm.bracket_log1p, logarithm.refined_log1p),
        Map(exact.TANH, np.tanh, expansion.bracket_tanh, exponential.refined_tanh),
        Map(
            exact.LOGISTIC,
            approximate_logistic,
            exponential.bracket_logistic,
            exponential.refined_logistic,
        ),
        Map(exact.ERF, expansion.approximate_erf, expansion.bracket_erf, expansion.refined_erf),
        # Its one bracket is within 2**-98 already.
        Map(exact.RSQRT, approximate_rsqrt, bracket_rsqrt, bracket_rsqrt),
        *(
            Map(
                each,
                approximate,
                partial(circular.bracket_circular, turn),
                partial(circular.refined_bracket_circular, turn),
            )
            for each, approximate, turn in (
                (exact.SIN, circular.approximate_sin, 0),
                (exact.COS, circular.approximate_cos, 128),
            )
        ),
    )
}
"""Every map but the square root, by its name."""


def exp(values: npt.ArrayLike) -> Array:
    """Returns e**x, correctly rounded; +0 at -inf."""
    return mapped(MAPS["exp"], values)


def expm1(values: npt.ArrayLike) -> Array:
    """Returns e**x - 1, correctly rounded; -1 at -inf, and a zero keeps its sign."""
    return mapped(MAPS["expm1"], values)


def ln(values: npt.ArrayLike) -> Array:
    """Returns the natural logarithm, correctly rounded; -inf at both zeros, NaN below them."""
    return mapped(MAPS["ln"], values)


def log1p(values: npt.ArrayLike) -> Array:
    """Returns ln(1 + x), correctly rounded; -inf at -1, NaN below, and a zero keeps its sign."""
    return mapped(MAPS["log1p"], values)


def tanh(values: npt.ArrayLike) -> Array:
    """Returns the hyperbolic tangent, correctly rounded; a zero keeps its sign."""
    return mapped(MAPS["tanh"], values)


def logistic(values: npt.ArrayLike) -> Array:
    """Returns 1 / (1 + e**-x), correctly rounded as a whole; +0 at -inf."""
    return mapped(MAPS["logistic"], values)


def sin(values: npt.ArrayLike) -> Array:
    """Returns the sine, correctly rounded; NaN at both infinities, and a zero keeps its sign."""
    return mapped(MAPS["sin"], values)


def cos(values: npt.ArrayLike) -> Array:
    """Returns the cosine, correctly rounded; NaN at both infinities."""
    return mapped(MAPS["cos"], values)


def erf(values: npt.ArrayLike) -> Array:
    """Returns the error function, correctly rounded; a zero keeps its sign.

    It is 2/sqrt(pi) times the integral of e**(-t*t) from 0 to x.
    """
    return mapped(MAPS["erf"], values)


def rsqrt(values: npt.ArrayLike) -> Array:
    """Returns 1 / sqrt(x), correctly rounded as a whole; -inf at -0, NaN below, +0 at +inf."""
    return mapped(MAPS["rsqrt"], values)


def sqrt(values: npt.ArrayLike) -> Array:
    """Returns the square root, correctly rounded; -0 at -0, NaN below."""
    array = np.asarray(values)
    target = format_of("sqrt", array)
    with np.errstate(all="ignore"):
        # Through float32, 16-bit roots round twice, which is harmless at 24 >= 2 * 11 + 2 bits.
        wide = array if target in (BINARY64, BINARY32) else array.astype(np.float32)
        result = np.sqrt(wide).astype(target.dtype)
    return canonical(np.ascontiguousarray(result).reshape(array.shape))
