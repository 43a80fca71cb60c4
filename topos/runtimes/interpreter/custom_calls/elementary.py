"""Elementary functions that texts of before their operations carry as custom calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from topos.payload.kernels import maps
from topos.payload.kernels.canonical import Array
from topos.payload.kernels.conversion import convert
from topos.payload.kernels.mapping import mapped
from topos.runtimes._signature import ArrayType
from topos.runtimes.interpreter.custom_calls.call import CustomCall, Target
from topos.runtimes.interpreter.special import (
    circular,
    complex_hyperbolic,
    complex_inverse,
    hyperbolic,
)

__all__ = ["TARGETS"]

Each = Callable[[Array], Array]


def _applied(real: Each, complex: Each | None, call: CustomCall, operand: Array) -> Array:
    """Computes in double precision and rounds once."""
    if np.iscomplexobj(operand):
        assert complex, "the check refuses it"
        wide = complex(operand.astype(np.complex128).reshape(-1))
        return wide.astype(operand.dtype).reshape(operand.shape)
    return convert(real(operand.astype(np.float64)), operand.dtype)


def _alike(complex: Each | None, call: CustomCall, operands: Sequence[ArrayType]) -> str:
    if len(operands) != 1 or list(operands) != list(call.results):
        return f"needs one operand and one result of its type, got {len(operands)} operands"
    kind = operands[0].dtype.kind
    if kind in "biu" or (kind == "c" and complex is None):
        return f"takes no elements of {operands[0].dtype}"
    return ""


_FUNCTIONS: Final[Mapping[str, tuple[Each, Each | None]]] = {
    "acos": (partial(mapped, circular.ACOS), complex_inverse.acos),
    "acosh": (partial(mapped, hyperbolic.ACOSH), complex_inverse.acosh),
    "asin": (partial(mapped, circular.ASIN), complex_inverse.asin),
    "asinh": (partial(mapped, hyperbolic.ASINH), complex_inverse.asinh),
    "atanh": (partial(mapped, hyperbolic.ATANH), complex_inverse.atanh),
    "cosh": (partial(mapped, hyperbolic.COSH), complex_hyperbolic.cosh),
    "erf": (maps.erf, None),
    "sinh": (partial(mapped, hyperbolic.SINH), complex_hyperbolic.sinh),
    "tan": (partial(mapped, circular.TAN), complex_hyperbolic.tan),
}
TARGETS: Final[Mapping[str, Target]] = {
    f"mhlo.{name}": Target(partial(_applied, real, complex), partial(_alike, complex))
    for name, (real, complex) in _FUNCTIONS.items()
}
