"""Formulas: everything that a backend may serve, by name, and the formats that it is served at."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from topos.errors import ArgumentError
from topos.op import MapOperation

if TYPE_CHECKING:
    from topos.backend.backend import Backend


class Precision(Enum):
    """The floating formats that some backend has kernels for; each value is an element's name."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> Precision | None:
        """Returns the precision stored as `dtype`, or `None`: integers and others have none."""
        # By name, for the dtype of bfloat16 belongs to an extension that may not be loaded.
        return _PRECISIONS.get(dtype.name)


_PRECISIONS: Final = {
    "float64": Precision.F64,
    "float32": Precision.F32,
    "float16": Precision.F16,
    "bfloat16": Precision.BF16,
}


class Formula(Enum):
    """The one vocabulary of the backends: single operations and composed patterns together.

    A map has the value of its `MapOperation`, other elementwise operations and stable forms that
    of their operation's name, a composed formula that of its `PatternKind`, and `MODULE` is a
    whole plan. What only moves data has none: everywhere the operation's own kernel moves it.
    """

    GEMM = "gemm"

    EXP = "exp"
    EXPM1 = "expm1"
    LN = "ln"
    LOG1P = "log1p"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    TANH = "tanh"
    LOGISTIC = "logistic"
    SIN = "sin"
    COS = "cos"
    ERF = "erf"

    SUM = "sum"
    MAX = "max"

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    NEG = "neg"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    STEP = "step"
    POWER = "power"
    COMPARE = "compare"
    CONVERT = "convert"
    FOLD = "fold"
    LOG_SOFTMAX = "log_softmax"
    LOG_SUM_EXP = "log_sum_exp"

    ATTENTION = "attention"
    BATCH_NORM_INFERENCE = "batch_norm_inference"
    BATCH_NORM_TRAINING = "batch_norm_training"
    ELEMENTWISE = "elementwise"
    REDUCE_WINDOW = "reduce_window"
    REDUCE_WINDOW_GRADIENT = "reduce_window_gradient"
    ROW_UPDATE = "row_update"
    WINDOW_PRODUCT = "window_product"
    WINDOW_PRODUCT_BIAS_GRADIENT = "window_product_bias_gradient"
    WINDOW_PRODUCT_INPUT_GRADIENT = "window_product_input_gradient"
    WINDOW_PRODUCT_WEIGHTS_GRADIENT = "window_product_weights_gradient"

    MODULE = "module"

    def chain(self, precision: Precision) -> tuple[Backend, ...]:
        """Returns the backends that a task may be offered to, in order; then the oracle serves.

        The answer is the same in every install: a backend that is not in use is passed over, and
        one that is not ready declines. Emission takes plans, not tasks, so no chain has it. Raises
        `ArgumentError` where `precision` is no `Precision`.
        """
        demand_precision(precision)
        # Backends know formulas, and a formula finds them when it is asked.
        from topos.backend.chain import chain

        return chain(self, precision)


MAPS: Final = tuple(Formula(function.value) for function in MapOperation)


def demand_formula(formula: object) -> None:
    """Raises `ArgumentError` where `formula` is no `Formula`: a name of one is none."""
    if not isinstance(formula, Formula):
        choices = ", ".join(f"Formula.{member.name}" for member in Formula)
        raise ArgumentError(f"a formula is one of {choices}, got {formula!r}")


def demand_precision(precision: object) -> None:
    """Raises `ArgumentError` where `precision` is no `Precision`: a name of one is none."""
    if not isinstance(precision, Precision):
        choices = ", ".join(f"Precision.{member.name}" for member in Precision)
        raise ArgumentError(f"a precision is one of {choices}, got {precision!r}")
