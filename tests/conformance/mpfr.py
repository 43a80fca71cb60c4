"""MPFR's correctly rounded maps and powers, in the four formats: the reference of conformance.

MPFR rounds once, to the precision of a context, and a context that subnormalizes keeps the range
of an IEEE format too. The two results that it defines otherwise are stated where they are mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import gmpy2
import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = ["CONTEXTS", "FLOATS", "MAPS", "QUIET", "UNROUNDED", "bits", "mapped", "raised"]

Array = npt.NDArray[Any]

F64, F32, F16 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS: Final = (F64, F32, F16, BF16)
QUIET: Final = {F64: 0x7FF8_0000_0000_0000, F32: 0x7FC0_0000, F16: 0x7E00, BF16: 0x7FC0}
CONTEXTS: Final = {
    F64: gmpy2.ieee(64),
    F32: gmpy2.ieee(32),
    F16: gmpy2.ieee(16),
    BF16: gmpy2.context(precision=8, emax=128, emin=-132, subnormalize=True),
}
# The exponents are so wide that nothing overflows or vanishes before the one rounding. 1/2 + x/4
# is a midpoint of float64 only above 2**-53, where the next term, x**3/48, still is within 170
# bits; no other result of the logistic is known to lie so near to a midpoint.
UNROUNDED: Final = gmpy2.context(precision=300, emax=2**40, emin=-(2**40))


def _logistic(value: Any) -> Any:
    return 1 / (1 + gmpy2.exp(-value))


def _reciprocal_root(value: Any) -> Any:
    # MPFR says +inf at -0, IEEE 754-2019 clause 9.2.1 says -inf.
    return 1 / gmpy2.mpfr(value) if value == 0 else gmpy2.rec_sqrt(value)


MAPS: Final[dict[str, Callable[[Any], Any]]] = {
    "exp": gmpy2.exp,
    "expm1": gmpy2.expm1,
    "ln": gmpy2.log,
    "log1p": gmpy2.log1p,
    "tanh": gmpy2.tanh,
    "logistic": _logistic,
    "sin": gmpy2.sin,
    "cos": gmpy2.cos,
    "erf": gmpy2.erf,
    "rsqrt": _reciprocal_root,
    "sqrt": gmpy2.sqrt,
}


def bits(array: Array) -> Array:
    """Returns the patterns of `array` as unsigned integers of its width."""
    unsigned: Array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    return unsigned


def mapped(name: str, values: Array) -> Array:
    """Returns the map `name` of one axis of `values`; every NaN is the canonical one."""
    numbers = _numbers(values)
    if name == "logistic":
        # MPFR has none: its formula is evaluated in many bits, and then rounded once.
        with UNROUNDED.copy():
            wide = [_logistic(number) for number in numbers]
        with CONTEXTS[values.dtype].copy():
            return _rounded((gmpy2.mul(number, 1) for number in wide), values.dtype)
    with CONTEXTS[values.dtype].copy():
        return _rounded(map(MAPS[name], numbers), values.dtype)


def raised(bases: Array, exponents: Array) -> Array:
    """Returns the powers of one axis of pairs; every NaN is the canonical one."""
    with CONTEXTS[bases.dtype].copy():
        first = map(gmpy2.mpfr, _numbers(bases))
        second = map(gmpy2.mpfr, _numbers(exponents))
        return _rounded(map(pow, first, second), bases.dtype)


def _numbers(values: Array) -> list[float]:
    with np.errstate(all="ignore"):
        numbers: list[float] = values.astype(np.float64).tolist()
    return numbers


def _rounded(results: Iterable[Any], dtype: np.dtype[Any]) -> Array:
    numbers = np.fromiter(map(float, results), np.float64)
    with np.errstate(all="ignore"):
        rounded = numbers.astype(dtype)
    bits(rounded)[np.isnan(numbers)] = QUIET[dtype]
    return rounded
