"""Arithmetic, element by element on operands of one type."""

from __future__ import annotations

from typing import Final

from topos.stablehlo.definition import Operand, define
from topos.stablehlo.dialect._alike import Binary, Commutative, Elementwise, Unary, truth
from topos.stablehlo.types import COMPLEX, FLOATS, INTEGERS, SIGNED, component

_NUMBERS: Final = INTEGERS | FLOATS | COMPLEX
_SIGNED: Final = SIGNED | FLOATS | COMPLEX


@define("stablehlo.abs")
class Abs(Elementwise):
    """The distance of each element from zero, which is real also where the element is complex."""

    operand = Operand()
    elements = _SIGNED
    made = component


@define("stablehlo.is_finite")
class IsFinite(Elementwise):
    """Whether each element is neither infinite nor a NaN."""

    operand = Operand()
    elements = FLOATS
    assembly = "$operand : functional-type"
    made = truth


class _Rounding(Unary):
    elements = FLOATS


Ceil = _Rounding.named("stablehlo.ceil", "The least integer that is not below each element.")
Floor = _Rounding.named("stablehlo.floor", "The greatest integer that is not above each element.")
RoundNearestAfz = _Rounding.named(
    "stablehlo.round_nearest_afz", "The integer nearest to each element; a tie goes away from zero."
)
RoundNearestEven = _Rounding.named(
    "stablehlo.round_nearest_even",
    "The integer nearest to each element; a tie goes to the even one.",
)


@define("stablehlo.negate")
class Negate(Unary):
    """Each element with the other sign."""

    elements = _NUMBERS


@define("stablehlo.sign")
class Sign(Unary):
    """Each element divided by its distance from zero; zero where it is zero."""

    elements = _SIGNED


Add = Commutative.named(
    "stablehlo.add",
    "The sum of the elements of `left` and `right`, or the disjunction of truth values.",
)
Multiply = Commutative.named(
    "stablehlo.multiply",
    "The product of the elements of `left` and `right`, or the conjunction of truth values.",
)
Maximum = Commutative.named(
    "stablehlo.maximum",
    "The greater of the elements of `left` and `right`; complex ones compare as pairs.",
)
Minimum = Commutative.named(
    "stablehlo.minimum",
    "The lesser of the elements of `left` and `right`; complex ones compare as pairs.",
)


class _Numeric(Binary):
    elements = _NUMBERS


Subtract = _Numeric.named("stablehlo.subtract", "The elements of `left` less those of `right`.")
Divide = _Numeric.named(
    "stablehlo.divide",
    "The elements of `left` divided by those of `right`; integers divide towards zero.",
)
Remainder = _Numeric.named(
    "stablehlo.remainder",
    "What the division of `left` by `right` leaves over, with the sign of `left`.",
)
Power = _Numeric.named(
    "stablehlo.power", "The elements of `left` to the power of those of `right`."
)


@define("stablehlo.atan2")
class Atan2(Binary):
    """The angle of the point with `left` as its height and `right` as its width."""

    elements = FLOATS | COMPLEX
