"""The CHLO operations that work element by element, on tensors whose rank may be unknown."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.stablehlo.definition import OperandOfAnyRank, define
from topos.stablehlo.dialect._alike import Alike, Binary, Elementwise, truth
from topos.stablehlo.rounding import EXACT, Once, Units
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import COMPLEX, FLOATS, INTEGERS

# What runtimes expand to a formula of several operations.
FORMULA: Final = Units(12)
# Near its zeros such a formula cancels, and is as good as its terms, which are about one.
CANCELLING: Final = Units(12, of_one=8)


class _OfAnyRank(Alike):
    elements = FLOATS
    assembly = "$operands : operand-types -> result-types"
    traits = Trait.ELEMENTWISE
    rounding = FORMULA


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


Acos = _Shared.named("chlo.acos", "The angle whose cosine each element is.")
Acosh = _Shared.named("chlo.acosh", "The number whose hyperbolic cosine each element is.")
Asin = _Shared.named("chlo.asin", "The angle whose sine each element is.")
Asinh = _Shared.named("chlo.asinh", "The number whose hyperbolic sine each element is.")
Atan = _Continuous.named("chlo.atan", "The angle whose tangent each element is.")
Atanh = _Shared.named("chlo.atanh", "The number whose hyperbolic tangent each element is.")
Cosh = _Shared.named("chlo.cosh", "The hyperbolic cosine of each element.")
Sinh = _Shared.named("chlo.sinh", "The hyperbolic sine of each element.")
Tan = _Continuous.named("chlo.tan", "The tangent of each element.", Units(4))
Square = _Continuous.named("chlo.square", "Each element times itself.", Once(np.square))
Conj = _Continuous.named(
    "chlo.conj", "The conjugate of each element; a real number is its own.", EXACT
)
BesselI1e = _Continuous.named(
    "chlo.bessel_i1e",
    "The modified Bessel function of order one, times exp(-|x|), of each element.",
)


@define("chlo._asin_acos_kernel")
class AsinAcosKernel(_Unary):
    """What the arc sine and arc cosine of each complex element are made of, as a pair."""

    elements = COMPLEX
    # It has no custom form.
    assembly = ""


Digamma = _Unary.named(
    "chlo.digamma",
    "The derivative of the logarithm of the gamma function, of each element.",
    CANCELLING,
)
Lgamma = _Unary.named(
    "chlo.lgamma",
    "The logarithm of the absolute value of the gamma function, of each element.",
    CANCELLING,
)


@define("chlo.erf")
class Erf(_Unary):
    """The error function of each element."""

    traits = _Unary.traits | Trait.MHLO
    rounding = Units(8)


Erfc = _Unary.named(
    "chlo.erfc", "One less the error function of each element; exact where that is near one."
)
ErfInv = _Unary.named("chlo.erf_inv", "The number whose error function each element is.")
NextAfter = _Binary.named(
    "chlo.next_after",
    "The number next to the element of `left` on the way to that of `right`.",
    EXACT,
)
Polygamma = _Binary.named(
    "chlo.polygamma", "The polygamma function of the order `left` at `right`."
)
Zeta = _Binary.named(
    "chlo.zeta", "The Hurwitz zeta function of the exponent `left` and the offset `right`."
)


@define("chlo.mulhi")
class Mulhi(Binary):
    """The upper half of the bits of the product of `left` and `right`."""

    elements = INTEGERS
    assembly = "$left, $right : operand-types -> result-types"
    traits = Binary.traits | Trait.MHLO
    rounding = EXACT


class _Asked(Elementwise):
    """Whether each element is one of those that the operation asks for."""

    operand = OperandOfAnyRank()
    elements = FLOATS
    assembly = "$operand : operand-types -> result-types"
    traits = Trait.ELEMENTWISE
    rounding = EXACT
    made = truth


IsInf = _Asked.named("chlo.is_inf", "Whether each element is infinite.")
IsNegInf = _Asked.named("chlo.is_neg_inf", "Whether each element is minus infinity.")
IsPosInf = _Asked.named("chlo.is_pos_inf", "Whether each element is plus infinity.")
