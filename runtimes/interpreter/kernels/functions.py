"""Functions of a continuous element, whose kernels the element chooses."""

from __future__ import annotations

from typing import Final

from topos.runtimes.interpreter.context import Builders
from topos.runtimes.interpreter.kernels.elementwise import elementwise
from topos.stablehlo.dialect import functions as dialect

__all__ = ["BUILDERS"]

_FUNCTIONS: Final = (
    dialect.Cbrt,
    dialect.Cosine,
    dialect.Exponential,
    dialect.ExponentialMinusOne,
    dialect.Log,
    dialect.LogPlusOne,
    dialect.Logistic,
    dialect.Rsqrt,
    dialect.Sine,
    dialect.Sqrt,
    dialect.Tan,
    dialect.Tanh,
)
BUILDERS: Final[Builders] = dict.fromkeys(_FUNCTIONS, elementwise)
