"""Unary maps: the transcendental functions and the square roots, each correctly rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

from topos.op.operation import Cotangents, Operation, R, Reads


class MapOperation(Enum):
    """The functions a `Map` applies; each value is the function's name in the vocabulary."""

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


_ERF_SLOPE: Final = 2.0 / math.sqrt(math.pi)
Rule = Callable[[Any, Any, Any], Any]
_OPERAND, _OUTPUT, _BOTH = Reads((0,)), Reads((), True), Reads((0,), True)
# What the rule of each function reads, and the rule: `gradient` times the derivative, where `y` is
# the value at `x`.
_RULES: Final[dict[MapOperation, tuple[Reads, Rule]]] = {
    MapOperation.EXP: (_OUTPUT, lambda x, y, gradient: gradient * y),
    MapOperation.EXPM1: (_OUTPUT, lambda x, y, gradient: gradient * (y + 1.0)),
    MapOperation.LN: (_OPERAND, lambda x, y, gradient: gradient / x),
    MapOperation.LOG1P: (_OPERAND, lambda x, y, gradient: gradient / (x + 1.0)),
    MapOperation.SQRT: (_OUTPUT, lambda x, y, gradient: gradient / (y + y)),
    MapOperation.RSQRT: (_BOTH, lambda x, y, gradient: gradient * ((y / x) * -0.5)),
    MapOperation.TANH: (_OUTPUT, lambda x, y, gradient: gradient * (1.0 - y * y)),
    MapOperation.LOGISTIC: (_OUTPUT, lambda x, y, gradient: gradient * (y * (1.0 - y))),
    MapOperation.SIN: (_OPERAND, lambda x, y, gradient: gradient * x.cos()),
    MapOperation.COS: (_OPERAND, lambda x, y, gradient: -(gradient * x.sin())),
    MapOperation.ERF: (_OPERAND, lambda x, y, gradient: gradient * ((-(x * x)).exp() * _ERF_SLOPE)),
}


class Map(Operation, name="map", arity=1, is_elementwise=True):
    """A function of one variable applied to every element."""

    __slots__ = ("function",)
    function: MapOperation

    def function_name(self) -> str:
        return self.function.value

    def reads(self) -> Reads:
        return _RULES[self.function][0]

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        rule = _RULES[self.function][1]
        return (rule(operands[0], output, gradient),)
