"""Arithmetic, element by element on operands of one type."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.stablehlo.definition import Operand, define
from topos.stablehlo.dialect._alike import Binary, Commutative, Elementwise, Unary, truth
from topos.stablehlo.rounding import EXACT, Once, Units
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import COMPLEX, FLOATS, INTEGERS, SIGNED, component

_NUMBERS: Final = INTEGERS | FLOATS | COMPLEX
_SIGNED: Final = SIGNED | FLOATS | COMPLEX
# Of a complex number the distance from zero is a root of squares; of a real one nothing rounds.
_MODULUS: Final = Units(2, complex_alone=True)


@define("stablehlo.abs")
class Abs(Elementwise):
    """The distance of each element from zero, which is real also where the element is complex."""

    operand = Operand()
    elements = _SIGNED
    rounding = _MODULUS
    made = component


@define("stablehlo.is_finite")
class IsFinite(Elementwise):
    """Whether each element is neither infinite nor a NaN."""

    operand = Operand()
    elements = FLOATS
    assembly = "$operand : functional-type"
    rounding = EXACT
    made = truth


class _Whole(Unary):
    elements = FLOATS
    traits = Unary.traits | Trait.DECIDES
    rounding = EXACT


Ceil = _Whole.named("stablehlo.ceil", "The least integer that is not below each element.")
Floor = _Whole.named("stablehlo.floor", "The greatest integer that is not above each element.")
RoundNearestAfz = _Whole.named(
    "stablehlo.round_nearest_afz", "The integer nearest to each element; a tie goes away from zero."
)
RoundNearestEven = _Whole.named(
    "stablehlo.round_nearest_even",
    "The integer nearest to each element; a tie goes to the even one.",
)


@define("stablehlo.negate")
class Negate(Unary):
    """Each element with the other sign."""

    elements = _NUMBERS
    rounding = EXACT


@define("stablehlo.sign")
class Sign(Unary):
    """Each element divided by its distance from zero; zero where it is zero."""

    elements = _SIGNED
    traits = Unary.traits | Trait.DECIDES
    rounding = _MODULUS


Add = Commutative.named(
    "stablehlo.add",
    "The sum of the elements of `left` and `right`, or the disjunction of truth values.",
    Once(np.add),
)
Multiply = Commutative.named(
    "stablehlo.multiply",
    "The product of the elements of `left` and `right`, or the conjunction of truth values.",
    Once(np.multiply),
    Trait.UNDERFLOWS,
)
Maximum = Commutative.named(
    "stablehlo.maximum",
    "The greater of the elements of `left` and `right`; complex ones compare as pairs.",
    EXACT,
)
Minimum = Commutative.named(
    "stablehlo.minimum",
    "The lesser of the elements of `left` and `right`; complex ones compare as pairs.",
    EXACT,
)


class _Numeric(Binary):
    elements = _NUMBERS


Subtract = _Numeric.named(
    "stablehlo.subtract", "The elements of `left` less those of `right`.", Once(np.subtract)
)
Divide = _Numeric.named(
    "stablehlo.divide",
    "The elements of `left` divided by those of `right`; integers divide towards zero.",
    Units(2),
    Trait.UNDERFLOWS,
)
Remainder = _Numeric.named(
    "stablehlo.remainder",
    "What the division of `left` by `right` leaves over, with the sign of `left`.",
    EXACT,
)
Power = _Numeric.named(
    "stablehlo.power",
    "The elements of `left` to the power of those of `right`.",
    Units(4),
    Trait.UNDERFLOWS,
)


@define("stablehlo.atan2")
class Atan2(Binary):
    """The angle of the point with `left` as its height and `right` as its width."""

    elements = FLOATS | COMPLEX
    rounding = Units(4)
