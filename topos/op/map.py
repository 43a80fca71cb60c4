"""Unary maps: the transcendental functions and the square roots, each correctly rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from topos.op.operation import Array, Cotangents, Domain, Operation, R, Reads
from topos.payload import kernels


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


_OPERAND, _OUTPUT, _BOTH = Reads((0,)), Reads((), True), Reads((0,), True)
_READS: Final[dict[MapOperation, Reads]] = {
    MapOperation.EXP: _OUTPUT,
    MapOperation.EXPM1: _OUTPUT,
    MapOperation.LN: _OPERAND,
    MapOperation.LOG1P: _OPERAND,
    MapOperation.SQRT: _OUTPUT,
    MapOperation.RSQRT: _BOTH,
    MapOperation.TANH: _OUTPUT,
    MapOperation.LOGISTIC: _OUTPUT,
    MapOperation.SIN: _OPERAND,
    MapOperation.COS: _OPERAND,
    MapOperation.ERF: _OPERAND,
}


class Map(Operation, name="map", arity=1, domain=Domain.BUILT_IN, is_elementwise=True):
    """A function of one variable applied to every element."""

    __slots__ = ("function",)
    function: MapOperation

    def compute(self, *operands: Array) -> Array:
        kernel: Callable[..., Array] = getattr(kernels.maps, self.function.value)
        return kernel(*operands)

    def reads(self) -> Reads:
        return _READS[self.function]

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (_derivative(self.function, operands[0], output, gradient),)


def _derivative(function: MapOperation, x: R, y: R, gradient: R) -> R:
    """Returns `gradient` times the derivative of `function`, of which `y` is the value at `x`."""
    match function:
        case MapOperation.EXP:
            return gradient * y
        case MapOperation.EXPM1:
            return gradient * (y + 1.0)
        case MapOperation.LN:
            return gradient / x
        case MapOperation.LOG1P:
            return gradient / (x + 1.0)
        case MapOperation.SQRT:
            return gradient / (y + y)
        case MapOperation.RSQRT:
            return gradient * ((y / x) * -0.5)
        case MapOperation.TANH:
            return gradient * (1.0 - y * y)
        case MapOperation.LOGISTIC:
            return gradient * (y * (1.0 - y))
        case MapOperation.SIN:
            return gradient * x.cos()
        case MapOperation.COS:
            return -(gradient * x.sin())
        case MapOperation.ERF:
            return gradient * ((-(x * x)).exp() * (2.0 / math.sqrt(math.pi)))
