"""The CHLO operations that work element by element, on tensors whose rank may be unknown."""

from __future__ import annotations

from typing import ClassVar, Final

from topos.stablehlo.definition import Definition, Operand, OperandOfAnyRank, define
from topos.stablehlo.dialect._demands import demand_one_element, filled, holding
from topos.stablehlo.elements import ANY, COMPLEX, FLOATS, INTEGERS
from topos.stablehlo.ir import Type
from topos.stablehlo.shapes import merged
from topos.stablehlo.traits import Trait

__all__ = [
    "Acos",
    "Acosh",
    "Asin",
    "AsinAcosKernel",
    "Asinh",
    "Atan",
    "Atanh",
    "BesselI1e",
    "Conj",
    "Cosh",
    "Digamma",
    "Erf",
    "ErfInv",
    "Erfc",
    "IsInf",
    "IsNegInf",
    "IsPosInf",
    "Lgamma",
    "Mulhi",
    "NextAfter",
    "Polygamma",
    "Sinh",
    "Square",
    "Tan",
    "Zeta",
]

_CONTINUOUS: Final = FLOATS | COMPLEX


class _Alike(Definition):
    """Operands of one type, with elements among `elements`, which is also the result's."""

    elements: ClassVar[frozenset[str]] = ANY
    assembly = "$operands : operand-types -> result-types"
    traits = Trait.ELEMENTWISE

    def infer(self) -> tuple[Type, ...]:
        """Returns the type that the operands share."""
        taken = [filled(self, type, "operand", self.elements) for type in self.operands]
        demand_one_element(self, taken)
        return (merged(self, taken, "operands"),)


class _Unary(_Alike):
    operand = OperandOfAnyRank()


class _Binary(_Alike):
    left = OperandOfAnyRank()
    right = OperandOfAnyRank()


@define("chlo.acos")
class Acos(_Unary):
    """The angle whose cosine each element is."""

    elements = _CONTINUOUS
    traits = _Unary.traits | Trait.MHLO


@define("chlo.acosh")
class Acosh(_Unary):
    """The number whose hyperbolic cosine each element is."""

    elements = _CONTINUOUS
    traits = _Unary.traits | Trait.MHLO


@define("chlo.asin")
class Asin(_Unary):
    """The angle whose sine each element is."""

    elements = _CONTINUOUS
    traits = _Unary.traits | Trait.MHLO


@define("chlo.asinh")
class Asinh(_Unary):
    """The number whose hyperbolic sine each element is."""

    elements = _CONTINUOUS
    traits = _Unary.traits | Trait.MHLO


@define("chlo.atan")
class Atan(_Unary):
    """The angle whose tangent each element is."""

    elements = _CONTINUOUS


@define("chlo.atanh")
class Atanh(_Unary):
    """The number whose hyperbolic tangent each element is."""

    elements = _CONTINUOUS
    traits = _Unary.traits | Trait.MHLO


@define("chlo.cosh")
class Cosh(_Unary):
    """The hyperbolic cosine of each element."""

    elements = _CONTINUOUS
    traits = _Unary.traits | Trait.MHLO


@define("chlo.sinh")
class Sinh(_Unary):
    """The hyperbolic sine of each element."""

    elements = _CONTINUOUS
    traits = _Unary.traits | Trait.MHLO


@define("chlo.tan")
class Tan(_Unary):
    """The tangent of each element."""

    elements = _CONTINUOUS


@define("chlo.square")
class Square(_Unary):
    """Each element times itself."""

    elements = _CONTINUOUS


@define("chlo.conj")
class Conj(_Unary):
    """The conjugate of each element; a real number is its own."""

    elements = _CONTINUOUS


@define("chlo.bessel_i1e")
class BesselI1e(_Unary):
    """The modified Bessel function of order one, times exp(-|x|), of each element."""

    elements = _CONTINUOUS


@define("chlo._asin_acos_kernel")
class AsinAcosKernel(_Unary):
    """What the arc sine and arc cosine of each complex element are made of, as a pair."""

    elements = COMPLEX
    # It has no custom form.
    assembly = ""


@define("chlo.digamma")
class Digamma(_Unary):
    """The derivative of the logarithm of the gamma function, of each element."""

    elements = FLOATS


@define("chlo.lgamma")
class Lgamma(_Unary):
    """The logarithm of the absolute value of the gamma function, of each element."""

    elements = FLOATS


@define("chlo.erf")
class Erf(_Unary):
    """The error function of each element."""

    elements = FLOATS
    traits = _Unary.traits | Trait.MHLO


@define("chlo.erfc")
class Erfc(_Unary):
    """One less the error function of each element; exact where that is near one."""

    elements = FLOATS


@define("chlo.erf_inv")
class ErfInv(_Unary):
    """The number whose error function each element is."""

    elements = FLOATS


@define("chlo.next_after")
class NextAfter(_Binary):
    """The number next to the element of `left` on the way to that of `right`."""

    elements = FLOATS


@define("chlo.polygamma")
class Polygamma(_Binary):
    """The polygamma function of the order `left` at `right`."""

    elements = FLOATS


@define("chlo.zeta")
class Zeta(_Binary):
    """The Hurwitz zeta function of the exponent `left` and the offset `right`."""

    elements = FLOATS


@define("chlo.mulhi")
class Mulhi(Definition):
    """The upper half of the bits of the product of `left` and `right`."""

    left = Operand("operand")
    right = Operand("operand")
    assembly = "$left, $right : operand-types -> result-types"
    traits = Trait.ELEMENTWISE | Trait.MHLO

    def infer(self) -> tuple[Type, ...]:
        """Returns the type that the operands share, whose rank is known."""
        taken = [holding(self, type, "operand", INTEGERS) for type in self.operands]
        demand_one_element(self, taken)
        return (merged(self, taken, "operands"),)


class _Asked(Definition):
    """Whether each element is one of those that the operation asks for."""

    operand = OperandOfAnyRank("operand", FLOATS)
    assembly = "$operand : operand-types -> result-types"
    traits = Trait.ELEMENTWISE

    def infer(self) -> tuple[Type, ...]:
        """Returns truth values of the operand's shape."""
        return (self.operand._replace(element="i1"),)


@define("chlo.is_inf")
class IsInf(_Asked):
    """Whether each element is infinite."""


@define("chlo.is_neg_inf")
class IsNegInf(_Asked):
    """Whether each element is minus infinity."""


@define("chlo.is_pos_inf")
class IsPosInf(_Asked):
    """Whether each element is plus infinity."""
