"""The CHLO operations that work element by element, on tensors whose rank may be unknown."""

from __future__ import annotations

from topos.stablehlo.definition import Definition, OperandOfAnyRank, define
from topos.stablehlo.dialect._alike import Alike, Binary
from topos.stablehlo.ir import Type
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import COMPLEX, FLOATS, INTEGERS


class _OfAnyRank(Alike):
    elements = FLOATS
    assembly = "$operands : operand-types -> result-types"
    traits = Trait.ELEMENTWISE


class _Unary(_OfAnyRank):
    operand = OperandOfAnyRank()


class _Binary(_OfAnyRank):
    left = OperandOfAnyRank("operand")
    right = OperandOfAnyRank("operand")


class _Continuous(_Unary):
    """A function of real and of complex numbers."""

    elements = FLOATS | COMPLEX


class _Shared(_Continuous):
    """A function that MHLO has as well."""

    traits = _Continuous.traits | Trait.MHLO


@define("chlo.acos")
class Acos(_Shared):
    """The angle whose cosine each element is."""


@define("chlo.acosh")
class Acosh(_Shared):
    """The number whose hyperbolic cosine each element is."""


@define("chlo.asin")
class Asin(_Shared):
    """The angle whose sine each element is."""


@define("chlo.asinh")
class Asinh(_Shared):
    """The number whose hyperbolic sine each element is."""


@define("chlo.atan")
class Atan(_Continuous):
    """The angle whose tangent each element is."""


@define("chlo.atanh")
class Atanh(_Shared):
    """The number whose hyperbolic tangent each element is."""


@define("chlo.cosh")
class Cosh(_Shared):
    """The hyperbolic cosine of each element."""


@define("chlo.sinh")
class Sinh(_Shared):
    """The hyperbolic sine of each element."""


@define("chlo.tan")
class Tan(_Continuous):
    """The tangent of each element."""


@define("chlo.square")
class Square(_Continuous):
    """Each element times itself."""


@define("chlo.conj")
class Conj(_Continuous):
    """The conjugate of each element; a real number is its own."""


@define("chlo.bessel_i1e")
class BesselI1e(_Continuous):
    """The modified Bessel function of order one, times exp(-|x|), of each element."""


@define("chlo._asin_acos_kernel")
class AsinAcosKernel(_Unary):
    """What the arc sine and arc cosine of each complex element are made of, as a pair."""

    elements = COMPLEX
    # It has no custom form.
    assembly = ""


@define("chlo.digamma")
class Digamma(_Unary):
    """The derivative of the logarithm of the gamma function, of each element."""


@define("chlo.lgamma")
class Lgamma(_Unary):
    """The logarithm of the absolute value of the gamma function, of each element."""


@define("chlo.erf")
class Erf(_Unary):
    """The error function of each element."""

    traits = _Unary.traits | Trait.MHLO


@define("chlo.erfc")
class Erfc(_Unary):
    """One less the error function of each element; exact where that is near one."""


@define("chlo.erf_inv")
class ErfInv(_Unary):
    """The number whose error function each element is."""


@define("chlo.next_after")
class NextAfter(_Binary):
    """The number next to the element of `left` on the way to that of `right`."""


@define("chlo.polygamma")
class Polygamma(_Binary):
    """The polygamma function of the order `left` at `right`."""


@define("chlo.zeta")
class Zeta(_Binary):
    """The Hurwitz zeta function of the exponent `left` and the offset `right`."""


@define("chlo.mulhi")
class Mulhi(Binary):
    """The upper half of the bits of the product of `left` and `right`."""

    elements = INTEGERS
    assembly = "$left, $right : operand-types -> result-types"


class _Asked(Definition):
    """Whether each element is one of those that the operation asks for."""

    operand = OperandOfAnyRank("operand", FLOATS)
    assembly = "$operand : operand-types -> result-types"
    traits = Trait.ELEMENTWISE

    def infer(self) -> tuple[Type, ...]:
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
