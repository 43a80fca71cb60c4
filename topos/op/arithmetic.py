"""Elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from topos.op.operation import Array, Cotangents, Domain, Operation, R, Reads
from topos.payload import kernels


class Add(Operation):
    """The sum of two values."""

    __slots__ = ()
    name: ClassVar[str] = "add"
    arity: ClassVar[int | None] = 2
    domain: ClassVar[Domain] = Domain.NUMBERS
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.arithmetic.add(*operands)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return gradient, gradient


class Sub(Operation):
    """The difference of two values."""

    __slots__ = ()
    name: ClassVar[str] = "sub"
    arity: ClassVar[int | None] = 2
    domain: ClassVar[Domain] = Domain.NUMBERS
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.arithmetic.subtract(*operands)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return gradient, -gradient


class Mul(Operation):
    """The elementwise product of two values."""

    __slots__ = ()
    name: ClassVar[str] = "mul"
    arity: ClassVar[int | None] = 2
    domain: ClassVar[Domain] = Domain.NUMBERS
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.arithmetic.multiply(*operands)

    def reads(self) -> Reads:
        return Reads(operands=(0, 1))

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        left, right = operands
        return gradient * right, left * gradient


class Div(Operation):
    """The quotient of two floating values."""

    __slots__ = ()
    name: ClassVar[str] = "div"
    arity: ClassVar[int | None] = 2
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.arithmetic.divide(*operands)

    def reads(self) -> Reads:
        return Reads(operands=(1,), output=True)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        numerator = gradient / operands[1]
        return numerator, -(numerator * output)


class Neg(Operation):
    """The value with its sign changed."""

    __slots__ = ()
    name: ClassVar[str] = "neg"
    arity: ClassVar[int | None] = 1
    domain: ClassVar[Domain] = Domain.NUMBERS
    introduces_nan: ClassVar[bool] = False
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.arithmetic.negate(*operands)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (-gradient,)


class Maximum(Operation):
    """The larger of two values; -0 is smaller than +0, and a tie's gradient goes left."""

    __slots__ = ()
    name: ClassVar[str] = "maximum"
    arity: ClassVar[int | None] = 2
    domain: ClassVar[Domain] = Domain.ANY
    introduces_nan: ClassVar[bool] = False
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.arithmetic.maximum(*operands)

    def reads(self) -> Reads:
        return Reads(operands=(0, 1))

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        left, right = operands
        won, zero = left.greater_equal(right), gradient.fill(0.0)
        return won.select(gradient, zero), won.select(zero, gradient)


class Minimum(Operation):
    """The smaller of two values; -0 is smaller than +0, and a tie's gradient goes left."""

    __slots__ = ()
    name: ClassVar[str] = "minimum"
    arity: ClassVar[int | None] = 2
    domain: ClassVar[Domain] = Domain.ANY
    introduces_nan: ClassVar[bool] = False
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.arithmetic.minimum(*operands)

    def reads(self) -> Reads:
        return Reads(operands=(0, 1))

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        left, right = operands
        won, zero = left.less_equal(right), gradient.fill(0.0)
        return won.select(gradient, zero), won.select(zero, gradient)


class Step(Operation):
    """One where the left value is at least the right one, else zero; its derivative is zero."""

    __slots__ = ()
    name: ClassVar[str] = "step"
    arity: ClassVar[int | None] = 2
    domain: ClassVar[Domain] = Domain.NUMBERS
    introduces_nan: ClassVar[bool] = False
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.arithmetic.step(*operands)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return None, None


class Power(Operation):
    """The left value raised to the right one, special cases as IEEE 754-2019 `pow`."""

    __slots__ = ()
    name: ClassVar[str] = "power"
    arity: ClassVar[int | None] = 2
    domain: ClassVar[Domain] = Domain.BUILT_IN
    is_elementwise: ClassVar[bool] = True

    def compute(self, *operands: Array) -> Array:
        return kernels.power.power(*operands)

    def reads(self) -> Reads:
        return Reads(operands=(0, 1), output=True)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        base, exponent = operands
        # y * x**(y - 1) is 0 * inf at x = y = 0, and ln(0) * 0**y is -inf * 0: both limits are 0.
        zero = gradient.fill(0.0)
        slope = exponent.equal(zero).select(zero, exponent * base ** (exponent - 1.0))
        logarithm = base.equal(zero).select(gradient.fill(1.0), base).ln()
        return gradient * slope, gradient * (output * logarithm)
