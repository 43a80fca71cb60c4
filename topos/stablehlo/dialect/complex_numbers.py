"""Complex numbers made of two parts, and the parts of them."""

from __future__ import annotations

from topos.stablehlo.attribute_text import function_type
from topos.stablehlo.definition import Operand, define
from topos.stablehlo.dialect._alike import Elementwise
from topos.stablehlo.elements import COMPLEX, FLOATS
from topos.stablehlo.ir import FunctionType, Tensor, Type

__all__ = ["Complex", "Imag", "Real"]

_OPENING, _CLOSING = "complex<", ">"


@define("stablehlo.complex")
class Complex(Elementwise):
    """The complex numbers with `left` as real and `right` as imaginary parts."""

    left = Operand()
    right = Operand()
    elements = frozenset({"f32", "f64"})
    # What follows the colon is the result's type alone where it tells those of its parts.
    assembly = "$left, $right"

    def infer(self) -> tuple[Type, ...]:
        """Returns the type that the operands share, with complex elements."""
        part = self.joined()
        return (part._replace(element=f"{_OPENING}{part.element}{_CLOSING}"),)

    @staticmethod
    def signature(type: FunctionType) -> str:
        """Returns the type of the result where the operands are of its parts'."""
        (result,) = type.results
        if not isinstance(result, Tensor) or not result.element.startswith(_OPENING):
            return function_type(type)
        part = result._replace(element=_part(result.element))
        return str(result) if {*type.operands} == {part} else function_type(type)


class _Part(Elementwise):
    """A part of each complex number; a real number is its own real part."""

    operand = Operand()
    elements = COMPLEX | FLOATS

    def infer(self) -> tuple[Type, ...]:
        """Returns the operand's type with real elements."""
        operand = self.joined()
        return (operand._replace(element=_part(operand.element)),)


@define("stablehlo.imag")
class Imag(_Part):
    """The imaginary part of each element, zero where it is real."""


@define("stablehlo.real")
class Real(_Part):
    """The real part of each element."""


def _part(element: str) -> str:
    return element.removeprefix(_OPENING).removesuffix(_CLOSING)
