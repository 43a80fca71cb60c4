"""Arithmetic, element by element on operands of one type."""

from __future__ import annotations

from typing import Final

from topos.stablehlo.definition import Operand, define
from topos.stablehlo.dialect._alike import Binary, Commutative, Elementwise, Unary
from topos.stablehlo.ir import Type
from topos.stablehlo.types import COMPLEX, FLOATS, INTEGERS, SIGNED, component

_NUMBERS: Final = INTEGERS | FLOATS | COMPLEX
_SIGNED: Final = SIGNED | FLOATS | COMPLEX


@define("stablehlo.abs")
class Abs(Elementwise):
    """The distance of each element from zero, which is real also where the element is complex."""

    operand = Operand()
    elements = _SIGNED

    def infer(self) -> tuple[Type, ...]:
        operand = self.joined()
        return (operand._replace(element=component(operand.element)),)


@define("stablehlo.is_finite")
class IsFinite(Elementwise):
    """Whether each element is neither infinite nor a NaN."""

    operand = Operand()
    elements = FLOATS
    assembly = "$operand : functional-type"

    def infer(self) -> tuple[Type, ...]:
        return (self.joined()._replace(element="i1"),)


class _Rounding(Unary):
    elements = FLOATS


@define("stablehlo.ceil")
class Ceil(_Rounding):
    """The least integer that is not below each element."""


@define("stablehlo.floor")
class Floor(_Rounding):
    """The greatest integer that is not above each element."""


@define("stablehlo.round_nearest_afz")
class RoundNearestAfz(_Rounding):
    """The integer nearest to each element; a tie goes away from zero."""


@define("stablehlo.round_nearest_even")
class RoundNearestEven(_Rounding):
    """The integer nearest to each element; a tie goes to the even one."""


@define("stablehlo.negate")
class Negate(Unary):
    """Each element with the other sign."""

    elements = _NUMBERS


@define("stablehlo.sign")
class Sign(Unary):
    """Each element divided by its distance from zero; zero where it is zero."""

    elements = _SIGNED


@define("stablehlo.add")
class Add(Commutative):
    """The sum of the elements of `left` and `right`, or the disjunction of truth values."""


@define("stablehlo.multiply")
class Multiply(Commutative):
    """The product of the elements of `left` and `right`, or the conjunction of truth values."""


@define("stablehlo.maximum")
class Maximum(Commutative):
    """The greater of the elements of `left` and `right`; complex ones compare as pairs."""


@define("stablehlo.minimum")
class Minimum(Commutative):
    """The lesser of the elements of `left` and `right`; complex ones compare as pairs."""


class _Numeric(Binary):
    elements = _NUMBERS


@define("stablehlo.subtract")
class Subtract(_Numeric):
    """The elements of `left` less those of `right`."""


@define("stablehlo.divide")
class Divide(_Numeric):
    """The elements of `left` divided by those of `right`; integers divide towards zero."""


@define("stablehlo.remainder")
class Remainder(_Numeric):
    """What the division of `left` by `right` leaves over, with the sign of `left`."""


@define("stablehlo.power")
class Power(_Numeric):
    """The elements of `left` to the power of those of `right`."""


@define("stablehlo.atan2")
class Atan2(Binary):
    """The angle of the point with `left` as its height and `right` as its width."""

    elements = FLOATS | COMPLEX
