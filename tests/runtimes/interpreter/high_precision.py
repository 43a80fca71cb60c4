"""What the tests of CHLO share: exact results by MPFR, and operations applied to arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2
import ml_dtypes
import numpy as np
import numpy.typing as npt

from topos.payload.kernels.rounding import FORMATS, nearest
from topos.runtimes.interpreter import run_text

Array = npt.NDArray[Any]

NAMES = {
    np.dtype(np.float64): "f64",
    np.dtype(np.float32): "f32",
    np.dtype(np.float16): "f16",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(np.complex128): "complex<f64>",
    np.dtype(np.complex64): "complex<f32>",
}


def applied(name: str, *arrays: Array) -> Array:
    """Returns an operation of operands of one type, which is also the result's."""
    extents = "".join(f"{extent}x" for extent in arrays[0].shape)
    type = f"tensor<{extents}{NAMES[arrays[0].dtype]}>"
    values = [f"%{letter}" for letter, _ in zip("abc", arrays, strict=False)]
    arguments = ", ".join(f"{value}: {type}" for value in values)
    types = ", ".join([type] * len(arrays))
    text = f"""func.func @main({arguments}) -> {type} {{
      %r = "{name}"({", ".join(values)}) : ({types}) -> {type}
      return %r : {type}
    }}"""
    (result,) = run_text(text, list(arrays))
    return result


def rounded(number: Any, dtype: Any) -> float:
    """Returns an MPFR number rounded once to a format, ties to even, as a float."""
    if not gmpy2.is_finite(number) or number == 0:
        return float(number)
    mantissa, exponent = number.as_mantissa_exp()
    return nearest(int(mantissa), int(exponent), FORMATS[np.dtype(dtype)])


def exactly(function: Callable[..., Any], *arrays: Array, precision: int = 400) -> Array:
    """Returns a function of MPFR numbers, element by element, each rounded once to the dtype."""
    dtype = arrays[0].dtype
    with gmpy2.context(precision=precision, emin=-(10**6), emax=10**6):
        results = [
            rounded(function(*map(gmpy2.mpfr, map(float, numbers))), dtype)
            for numbers in zip(*arrays, strict=True)
        ]
    return np.array(results).astype(dtype)


def differing(left: Array, right: Array) -> list[int]:
    """Returns where two arrays differ in their bits, a NaN being the same as any other."""
    unsigned = f"u{left.dtype.itemsize}"
    same = (left.view(unsigned) == right.view(unsigned)) | ((left != left) & (right != right))
    return np.flatnonzero(~same).tolist()
