"""Arithmetic, element by element on operands of one type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.definition import Operand, define
from topos.stablehlo.dialect._alike import Binary, Elementwise, Unary
from topos.stablehlo.elements import COMPLEX, FLOATS, INTEGERS, SIGNED
from topos.stablehlo.ir import Type
from topos.stablehlo.traits import Trait

__all__ = [
    "Abs",
    "Add",
    "Atan2",
    "Ceil",
    "Divide",
    "Floor",
    "IsFinite",
    "Maximum",
    "Minimum",
    "Multiply",
    "Negate",
    "Power",
    "Remainder",
    "RoundNearestAfz",
    "RoundNearestEven",
    "Sign",
    "Subtract",
]

_NUMBERS: Final = INTEGERS | FLOATS | COMPLEX
_SIGNED: Final = SIGNED | FLOATS | COMPLEX
_REALS: Final[Mapping[str, str]] = {"complex<f32>": "f32", "complex<f64>": "f64"}


@define("stablehlo.abs")
class Abs(Elementwise):
    """The distance of each element from zero, which is real also where the element is complex."""

    operand = Operand()
    elements = _SIGNED

    def infer(self) -> tuple[Type, ...]:
        """Returns the operand's type with real elements."""
        operand = self.joined()
        return (operand._replace(element=_REALS.get(operand.element, operand.element)),)


@define("stablehlo.is_finite")
class IsFinite(Elementwise):
    """Whether each element is neither infinite nor a NaN."""

    operand = Operand()
    elements = FLOATS
    assembly = "$operand : functional-type"

    def infer(self) -> tuple[Type, ...]:
        """Returns truth values of the operand's shape."""
        return (self.joined()._replace(element="i1"),)


@define("stablehlo.ceil")
class Ceil(Unary):
    """The least integer that is not below each element."""

    elements = FLOATS


@define("stablehlo.floor")
class Floor(Unary):
    """The greatest integer that is not above each element."""

    elements = FLOATS


@define("stablehlo.round_nearest_afz")
class RoundNearestAfz(Unary):
    """The integer nearest to each element; a tie goes away from zero."""

    elements = FLOATS


@define("stablehlo.round_nearest_even")
class RoundNearestEven(Unary):
    """The integer nearest to each element; a tie goes to the even one."""

    elements = FLOATS


@define("stablehlo.negate")
class Negate(Unary):
    """Each element with the other sign."""

    elements = _NUMBERS


@define("stablehlo.sign")
class Sign(Unary):
    """Each element divided by its distance from zero; zero where it is zero."""

    elements = _SIGNED


@define("stablehlo.add")
class Add(Binary):
    """The sum of the elements of `left` and `right`, or the disjunction of truth values."""

    traits = Binary.traits | Trait.COMMUTATIVE


@define("stablehlo.multiply")
class Multiply(Binary):
    """The product of the elements of `left` and `right`, or the conjunction of truth values."""

    traits = Binary.traits | Trait.COMMUTATIVE


@define("stablehlo.maximum")
class Maximum(Binary):
    """The greater of the elements of `left` and `right`; complex ones compare as pairs."""

    traits = Binary.traits | Trait.COMMUTATIVE


@define("stablehlo.minimum")
class Minimum(Binary):
    """The lesser of the elements of `left` and `right`; complex ones compare as pairs."""

    traits = Binary.traits | Trait.COMMUTATIVE


@define("stablehlo.subtract")
class Subtract(Binary):
    """The elements of `left` less those of `right`."""

    elements = _NUMBERS


@define("stablehlo.divide")
class Divide(Binary):
    """The elements of `left` divided by those of `right`; integers divide towards zero."""

    elements = _NUMBERS


@define("stablehlo.remainder")
class Remainder(Binary):
    """What the division of `left` by `right` leaves over, with the sign of `left`."""

    elements = _NUMBERS


@define("stablehlo.power")
class Power(Binary):
    """The elements of `left` to the power of those of `right`."""

    elements = _NUMBERS


@define("stablehlo.atan2")
class Atan2(Binary):
    """The angle of the point with `left` as its height and `right` as its width."""

    elements = FLOATS | COMPLEX
