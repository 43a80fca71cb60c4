"""Elementwise arithmetic and maps of one to three operands of one type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import arithmetic, maps
from topos.payload.kernels.conversion import promoted, rounded
from topos.payload.kernels.power import power
from topos.runtimes._stablehlo.operations import integers
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import is_float

__all__ = ["BUILDERS", "ELEMENTWISE", "kernel_of"]

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


_FLOAT: Final[Mapping[str, Kernel]] = {
    "chlo.erf": maps.erf,
    "chlo.square": _square,
    "stablehlo.abs": arithmetic.absolute,
    "stablehlo.add": arithmetic.add,
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
    "stablehlo.tanh": maps.tanh,
}
_INTEGER: Final[Mapping[str, Kernel]] = {
    "chlo.square": integers.square,
    "stablehlo.abs": np.absolute,
    "stablehlo.add": np.add,
    "stablehlo.divide": integers.divide,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.multiply": np.multiply,
    "stablehlo.negate": np.negative,
    "stablehlo.power": integers.power,
    "stablehlo.remainder": integers.remainder,
    "stablehlo.sign": np.sign,
    "stablehlo.subtract": np.subtract,
}
# Of truth values addition is `or` and multiplication is `and`.
_TRUTH: Final[Mapping[str, Kernel]] = {
    "stablehlo.add": np.logical_or,
    "stablehlo.maximum": np.logical_or,
    "stablehlo.minimum": np.logical_and,
    "stablehlo.multiply": np.logical_and,
}
_BINARY: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        "add",
        "divide",
        "maximum",
        "minimum",
        "multiply",
        "power",
        "remainder",
        "subtract",
    )
)


def kernel_of(name: str, element: str) -> Kernel | None:
    """Returns the kernel of an elementwise operation for elements called `element`, if any."""
    if element == "i1":
        return _TRUTH.get(name)
    return (_INTEGER if element[0] in "iu" else _FLOAT).get(name)


def _elementwise(site: Site) -> Kernel:
    site.takes(2 if site.name in _BINARY else 1)
    first, *others = site.operands
    site.demand(
        all(other == first for other in others),
        f"needs operands of one type, got {' and '.join(map(str, site.operands))}",
    )
    site.yields(first)
    kernel = kernel_of(site.name, first.element)
    if kernel is None:
        site.refuse(f"takes no elements of {first.element}")
    return kernel


def _is_finite(site: Site) -> Kernel:
    site.takes(1)
    (operand,) = site.operands
    site.demand(is_float(operand), f"takes no elements of {operand.element}")
    site.yields(operand._replace(element="i1"))
    return _finite


def _finite(array: Array) -> Array:
    return np.isfinite(promoted(array))


def _clamp(site: Site) -> Kernel:
    site.takes(3)
    low, operand, high = site.operands
    for bound in (low, high):
        site.demand(
            bound in (operand, operand._replace(shape=())),
            f"needs bounds of {operand} or of one element, got {bound}",
        )
    site.yields(operand)
    lower = kernel_of("stablehlo.maximum", operand.element)
    upper = kernel_of("stablehlo.minimum", operand.element)
    if lower is None or upper is None:
        site.refuse(f"takes no elements of {operand.element}")
    return partial(_clamped, lower, upper)


def _clamped(
    lower: Callable[..., Array], upper: Callable[..., Array], low: Array, array: Array, high: Array
) -> Array:
    return upper(lower(low, array), high)


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {
    **dict.fromkeys(_FLOAT, _elementwise),
    "stablehlo.clamp": _clamp,
    "stablehlo.is_finite": _is_finite,
}
