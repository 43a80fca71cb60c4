"""Operations on the bits of elements: logic, shifts, counts and other readings of the bits."""

from __future__ import annotations

import re
from typing import Final

from topos.stablehlo.assembly import Head
from topos.stablehlo.definition import Definition, Operand, Result, define
from topos.stablehlo.dialect._alike import Binary, Commutative, Unary
from topos.stablehlo.ir import Operation, OtherType, Tensor, Type, Typed
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.rounding import EXACT
from topos.stablehlo.shapes import bounds_of, of_bounds, shapes_agree
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Integer
from topos.stablehlo.types import COMPLEX, FLOATS, INTEGERS, PREDICATE, width

_BITWISE: Final = PREDICATE | INTEGERS
_FORMAT: Final = re.compile(r"e(\d{1,9})m(\d{1,9})")


class _Logic(Commutative):
    elements = _BITWISE
    rounding = EXACT


And = _Logic.named("stablehlo.and", "The bits that both `left` and `right` have.")
Or = _Logic.named("stablehlo.or", "The bits that `left` or `right` has.")
Xor = _Logic.named("stablehlo.xor", "The bits that one of `left` and `right` has.")


@define("stablehlo.not")
class Not(Unary):
    """The bits that each element has not."""

    elements = _BITWISE
    rounding = EXACT


class _Count(Unary):
    elements = INTEGERS
    rounding = EXACT


CountLeadingZeros = _Count.named(
    "stablehlo.count_leading_zeros", "How many zeros the bits of each element begin with."
)
Popcnt = _Count.named("stablehlo.popcnt", "How many bits of each element are one.")


class _Shift(Binary):
    elements = INTEGERS
    rounding = EXACT


ShiftLeft = _Shift.named(
    "stablehlo.shift_left", "The bits of `left` moved up by as many places as `right` says."
)
ShiftRightArithmetic = _Shift.named(
    "stablehlo.shift_right_arithmetic",
    "The bits of `left` moved down by as many places as `right` says, filled with the sign.",
)
ShiftRightLogical = _Shift.named(
    "stablehlo.shift_right_logical",
    "The bits of `left` moved down by as many places as `right` says, filled with zeros.",
)


@define("stablehlo.bitcast_convert")
class BitcastConvert(Definition):
    """The bits of `operand` read as another element; a last axis holds the parts of a wider one."""

    operand = Operand()
    result = Result()
    assembly = "$operand : functional-type"
    traits = Trait.MOVES | Trait.ELEMENTWISE

    def infer(self) -> tuple[Type, ...]:
        operand, result = self.operand, self.result
        if (operand.element in COMPLEX) != (result.element in COMPLEX):
            self.refuse(f"cannot turn {operand} into {result}: only one of them is complex")
        read = _read_as(operand, result.element)
        if read is None or not shapes_agree(read.shape, result.shape):
            self.refuse(f"cannot turn {operand} into {result}")
        return (read,)


def _read_as(operand: Tensor, element: str) -> Tensor | None:
    """Returns the type of the bits of `operand` as `element`, or `None` where they do not fit."""
    held, read = width(operand.element), width(element)
    shape, bounds = operand.shape, bounds_of(operand)
    if held < read:
        if not shape or read % held or shape[-1] not in (None, read // held):
            return None
        shape, bounds = shape[:-1], bounds[:-1]
    elif held > read:
        if held % read:
            return None
        shape, bounds = (*shape, held // read), (*bounds, None)
    return of_bounds(shape, element, bounds)


@define("stablehlo.reduce_precision")
class ReducePrecision(Unary):
    """Each element rounded to a format of `exponent_bits` and `mantissa_bits`."""

    elements = FLOATS
    rounding = EXACT
    exponent_bits = Integer(width="i32", least=1)
    mantissa_bits = Integer(width="i32", least=0)
    clauses = frozenset({"format"})

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        attributes = dict(parsed.attributes)
        match = _FORMAT.fullmatch(str(attributes.pop("format", "")))
        if not match:
            raise parsed.misread("format = e5m10, the bits of exponent and mantissa")
        exponent, mantissa = map(int, match.groups())
        attributes["exponent_bits"] = ReducePrecision.exponent_bits.made(exponent)
        attributes["mantissa_bits"] = ReducePrecision.mantissa_bits.made(mantissa)
        return parsed._replace(attributes=attributes)

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        rest = dict(operation.attributes)
        match rest.pop("exponent_bits", None), rest.pop("mantissa_bits", None):
            case (
                Typed(int() as exponent, OtherType("i32")),
                Typed(int() as mantissa, OtherType("i32")),
            ) if exponent >= 0 and mantissa >= 0:
                operands = ", ".join(operation.operands)
                return Head(f"{operands}, format = e{exponent}m{mantissa}", rest)
        return None
