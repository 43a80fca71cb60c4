"""Formulas: everything that a backend may serve, by name."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from topos.backend.precision import Precision, demand_precision
from topos.errors import ArgumentError

if TYPE_CHECKING:
    from topos.backend.backend import Backend

__all__ = ["MAPS", "Formula", "demand_formula"]


class Formula(Enum):
    """The one vocabulary of the backends: single operations and composed patterns together.

    A map has the value of its `MapOperation`, a composed formula that of its `PatternKind`, and
    `MODULE` is a whole plan.
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

    ATTENTION = "attention"
    BATCH_NORM_INFERENCE = "batch_norm_inference"
    BATCH_NORM_TRAINING = "batch_norm_training"
    ELEMENTWISE = "elementwise"
    REDUCE_WINDOW = "reduce_window"
    REDUCE_WINDOW_GRADIENT = "reduce_window_gradient"
    WINDOW_PRODUCT = "window_product"
    WINDOW_PRODUCT_BIAS_GRADIENT = "window_product_bias_gradient"
    WINDOW_PRODUCT_INPUT_GRADIENT = "window_product_input_gradient"
    WINDOW_PRODUCT_WEIGHTS_GRADIENT = "window_product_weights_gradient"

    MODULE = "module"

    def chain(self, precision: Precision) -> tuple[Backend, ...]:
        """Returns the backends that a task is offered to, in order; then the oracle serves.

        The answer is the same in every install: a backend that is not ready declines. Emission
        takes plans, not tasks, so no chain has it. Raises `ArgumentError` where `precision` is no
        `Precision`.
        """
        demand_precision(precision)
        # Backends know formulas, and a formula finds them when it is asked.
        from topos.backend.chain import chain

        return chain(self, precision)


MAPS: Final = (
    Formula.EXP,
    Formula.EXPM1,
    Formula.LN,
    Formula.LOG1P,
    Formula.SQRT,
    Formula.RSQRT,
    Formula.TANH,
    Formula.LOGISTIC,
    Formula.SIN,
    Formula.COS,
    Formula.ERF,
)


def demand_formula(formula: object) -> None:
    """Raises `ArgumentError` where `formula` is no `Formula`: a name of one is none."""
    if not isinstance(formula, Formula):
        choices = ", ".join(f"Formula.{member.name}" for member in Formula)
        raise ArgumentError(f"a formula is one of {choices}, got {formula!r}")
