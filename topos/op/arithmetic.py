"""Elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from topos.op.operation import Cotangents, Operation, R, Reads


class Add(Operation, name="add", arity=2, by="add", is_elementwise=True):
    """The sum of two values."""

    __slots__ = ()

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return gradient, gradient


class Sub(Operation, name="sub", arity=2, by="subtract", is_elementwise=True):
    """The difference of two values."""

    __slots__ = ()

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return gradient, -gradient


class Mul(Operation, name="mul", arity=2, by="multiply", is_elementwise=True):
    """The elementwise product of two values."""

    __slots__ = ()
    _reads = Reads(operands=(0, 1))

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        left, right = operands
        return gradient * right, left * gradient


class Div(Operation, name="div", arity=2, by="divide", is_elementwise=True):
    """The quotient of two floating values."""

    __slots__ = ()
    _reads = Reads(operands=(1,), output=True)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        numerator = gradient / operands[1]
        return numerator, -(numerator * output)


class Neg(Operation, name="neg", arity=1, by="negate", introduces_nan=False, is_elementwise=True):
    """The value with its sign changed."""

    __slots__ = ()

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (-gradient,)


class Maximum(
    Operation, name="maximum", arity=2, by="maximum", introduces_nan=False, is_elementwise=True
):
    """The larger of two values; -0 is smaller than +0, and a tie's gradient goes left."""

    __slots__ = ()
    _reads = Reads(operands=(0, 1))

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        left, right = operands
        won, zero = left.greater_equal(right), gradient.fill(0.0)
        return won.select(gradient, zero), won.select(zero, gradient)


class Minimum(
    Operation, name="minimum", arity=2, by="minimum", introduces_nan=False, is_elementwise=True
):
    """The smaller of two values; -0 is smaller than +0, and a tie's gradient goes left."""

    __slots__ = ()
    _reads = Reads(operands=(0, 1))

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        left, right = operands
        won, zero = left.less_equal(right), gradient.fill(0.0)
        return won.select(gradient, zero), won.select(zero, gradient)


class Step(
    Operation,
    name="step",
    arity=2,
    by="step",
    introduces_nan=False,
    is_elementwise=True,
):
    """One where the left value is at least the right one, else zero; its derivative is zero."""

    __slots__ = ()

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return None, None


class Power(Operation, name="power", arity=2, by="power", is_elementwise=True):
    """The left value raised to the right one, special cases as IEEE 754-2019 `pow`."""

    __slots__ = ()
    _reads = Reads(operands=(0, 1), output=True)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        base, exponent = operands
        # y * x**(y - 1) is 0 * inf at x = y = 0, and ln(0) * 0**y is -inf * 0: both limits are 0.
        zero = gradient.fill(0.0)
        slope = exponent.equal(zero).select(zero, exponent * base ** (exponent - 1.0))
        logarithm = base.equal(zero).select(gradient.fill(1.0), base).ln()
        return gradient * slope, gradient * (output * logarithm)
