"""Complex numbers made of two parts, and the parts of them."""

from __future__ import annotations

from topos.stablehlo.attribute_text import function_type
from topos.stablehlo.definition import Operand, define
from topos.stablehlo.dialect._alike import Elementwise
from topos.stablehlo.ir import FunctionType, Tensor
from topos.stablehlo.rounding import EXACT
from topos.stablehlo.types import COMPLEX, FLOATS, component, is_complex


@define("stablehlo.complex")
class Complex(Elementwise):
    """The complex numbers with `left` as real and `right` as imaginary parts."""

    left = Operand("operand")
    right = Operand("operand")
    elements = frozenset({"f32", "f64"})
    # What follows the colon is the result's type alone where it tells those of its parts.
    assembly = "$left, $right"
    rounding = EXACT
    made = "complex<{}>".format

    @staticmethod
    def signature(type: FunctionType) -> str:
        (result,) = type.results
        if not isinstance(result, Tensor) or not is_complex(result):
            return function_type(type)
        part = result._replace(element=component(result.element))
        return str(result) if {*type.operands} == {part} else function_type(type)


class _Part(Elementwise):
    """A part of each complex number; a real number is its own real part."""

    operand = Operand()
    elements = COMPLEX | FLOATS
    rounding = EXACT
    made = component


Imag = _Part.named("stablehlo.imag", "The imaginary part of each element, zero where it is real.")
Real = _Part.named("stablehlo.real", "The real part of each element.")
