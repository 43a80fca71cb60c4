"""Linear algebra: Cholesky's factors and triangular systems.

Elements narrower than f64 are computed in f64 and rounded once; the Fast posture keeps f32. What
XLA does where a matrix is not positive definite is done here: all its elements are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.custom_calls.definite import factored
from topos.runtimes.interpreter.custom_calls.triangular import adjoint, solved
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import dtype_of, is_complex

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _cholesky(context: BuildContext) -> Kernel:
    lower = context.truth("lower", False)
    (operand,) = context.operands
    return partial(_factors, lower, _computed(operand, context.exact), not context.exact)


def _factors(lower: bool, computed: np.dtype[Any], blocked: bool, matrix: Array) -> Array:
    wide = matrix.astype(computed)
    factor, failed = factored(wide if lower else adjoint(wide), blocked)
    factor = np.where(failed[..., None, None] != 0, computed.type(np.nan), factor)
    return (factor if lower else adjoint(factor)).astype(matrix.dtype)


def _triangular_solve(context: BuildContext) -> Kernel:
    return partial(
        _solution,
        _computed(context.operands[0], context.exact),
        partial(
            solved,
            left=context.truth("left_side", False),
            lower=context.truth("lower", False),
            unit=context.truth("unit_diagonal", False),
            transpose=context.word("transpose_a"),
            blocked=not context.exact,
        ),
    )


def _solution(computed: np.dtype[Any], solve: Kernel, matrix: Array, sides: Array) -> Array:
    return np.asarray(solve(matrix.astype(computed), sides.astype(computed)).astype(sides.dtype))


def _computed(type: Tensor, exact: bool) -> np.dtype[Any]:
    """Returns the dtype that a computation over `type` runs in."""
    if not exact and type.element in ("f32", "complex<f32>"):
        return dtype_of(type)
    return np.dtype(np.complex128 if is_complex(type) else np.float64)


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _triangular_solve,
}
