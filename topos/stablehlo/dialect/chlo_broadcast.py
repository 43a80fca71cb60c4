"""The CHLO operations whose operands are broadcast to one shape first."""

from __future__ import annotations

from typing import ClassVar, Final

from topos.stablehlo.definition import Definition, Operand, OperandOfAnyRank, define
from topos.stablehlo.dialect._broadcasting import broadcast, broadcast_along
from topos.stablehlo.dialect._demands import demand_one_element, filled
from topos.stablehlo.elements import ANY, FLOATS, INTEGERS, PREDICATE
from topos.stablehlo.ir import Type
from topos.stablehlo.shapes import TensorType
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes, Choice

__all__ = [
    "BroadcastAdd",
    "BroadcastAnd",
    "BroadcastAtan2",
    "BroadcastCompare",
    "BroadcastComplex",
    "BroadcastDivide",
    "BroadcastMaximum",
    "BroadcastMinimum",
    "BroadcastMultiply",
    "BroadcastNextAfter",
    "BroadcastOr",
    "BroadcastPolygamma",
    "BroadcastPower",
    "BroadcastRemainder",
    "BroadcastSelect",
    "BroadcastShiftLeft",
    "BroadcastShiftRightArithmetic",
    "BroadcastShiftRightLogical",
    "BroadcastSubtract",
    "BroadcastXor",
    "BroadcastZeta",
]

_DIRECTIONS: Final = ("EQ", "NE", "GE", "GT", "LE", "LT")
_COMPARISONS: Final = ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
_BITWISE: Final = PREDICATE | INTEGERS


class _Broadcast(Definition):
    """Two operands of one element that are broadcast together; by default the result keeps it.

    Axes are aligned at the last one, or `broadcast_dimensions` says where those of the operand of
    lower rank go.
    """

    left = OperandOfAnyRank()
    right = OperandOfAnyRank()
    broadcast_dimensions = Axes(default=(), strict=True)
    elements: ClassVar[frozenset[str]] = ANY
    assembly = "$left, $right : functional-type"

    def joined(self) -> TensorType:
        """Returns the type that the operands are broadcast to."""
        left, right = (filled(self, type, "operand", self.elements) for type in self.operands)
        demand_one_element(self, [left, right])
        if "broadcast_dimensions" not in self.operation.attributes:
            return broadcast(self, (left, right), left.element)
        return broadcast_along(self, left, right, self.broadcast_dimensions)

    def infer(self) -> tuple[Type, ...]:
        """Returns the type that the operands are broadcast to."""
        return (self.joined(),)


@define("chlo.broadcast_add")
class BroadcastAdd(_Broadcast):
    """`left` plus `right`."""


@define("chlo.broadcast_atan2")
class BroadcastAtan2(_Broadcast):
    """The angle of the point with `left` as its height and `right` as its width."""


@define("chlo.broadcast_divide")
class BroadcastDivide(_Broadcast):
    """`left` divided by `right`."""


@define("chlo.broadcast_maximum")
class BroadcastMaximum(_Broadcast):
    """The greater of `left` and `right`."""


@define("chlo.broadcast_minimum")
class BroadcastMinimum(_Broadcast):
    """The lesser of `left` and `right`."""


@define("chlo.broadcast_multiply")
class BroadcastMultiply(_Broadcast):
    """`left` times `right`."""


@define("chlo.broadcast_next_after")
class BroadcastNextAfter(_Broadcast):
    """The number next to `left` on the way to `right`."""


@define("chlo.broadcast_polygamma")
class BroadcastPolygamma(_Broadcast):
    """The polygamma function of the order `left` at `right`."""


@define("chlo.broadcast_power")
class BroadcastPower(_Broadcast):
    """`left` to the power of `right`."""


@define("chlo.broadcast_remainder")
class BroadcastRemainder(_Broadcast):
    """What the division of `left` by `right` leaves over."""


@define("chlo.broadcast_shift_left")
class BroadcastShiftLeft(_Broadcast):
    """The bits of `left` moved up by `right` places."""


@define("chlo.broadcast_shift_right_arithmetic")
class BroadcastShiftRightArithmetic(_Broadcast):
    """The bits of `left` moved down by `right` places, filled with the sign."""


@define("chlo.broadcast_shift_right_logical")
class BroadcastShiftRightLogical(_Broadcast):
    """The bits of `left` moved down by `right` places, filled with zeros."""


@define("chlo.broadcast_subtract")
class BroadcastSubtract(_Broadcast):
    """`left` less `right`."""


@define("chlo.broadcast_and")
class BroadcastAnd(_Broadcast):
    """The bits that both `left` and `right` have."""

    elements = _BITWISE


@define("chlo.broadcast_or")
class BroadcastOr(_Broadcast):
    """The bits that `left` or `right` has."""

    elements = _BITWISE


@define("chlo.broadcast_xor")
class BroadcastXor(_Broadcast):
    """The bits that one of `left` and `right` has."""

    elements = _BITWISE


@define("chlo.broadcast_zeta")
class BroadcastZeta(_Broadcast):
    """The Hurwitz zeta function of the exponent `left` and the offset `right`."""

    elements = FLOATS
    # It has no custom form, nor have those below.
    assembly = ""


@define("chlo.broadcast_complex")
class BroadcastComplex(_Broadcast):
    """The complex numbers with `left` as real and `right` as imaginary parts."""

    elements = frozenset({"f32", "f64"})
    assembly = ""

    def infer(self) -> tuple[Type, ...]:
        """Returns the type that the operands are broadcast to, with complex elements."""
        joined = self.joined()
        return (joined._replace(element=f"complex<{joined.element}>"),)


@define("chlo.broadcast_compare")
class BroadcastCompare(_Broadcast):
    """Whether `left` and `right` are in the order `comparison_direction`."""

    comparison_direction = Choice("#chlo<comparison_direction", _DIRECTIONS)
    compare_type = Choice("#chlo<comparison_type", _COMPARISONS, default="NOTYPE")
    assembly = ""

    def infer(self) -> tuple[Type, ...]:
        """Returns truth values of the shape that the operands are broadcast to."""
        joined, _, _ = self.joined(), self.comparison_direction, self.compare_type
        return (joined._replace(element="i1"),)


@define("chlo.broadcast_select")
class BroadcastSelect(Definition):
    """The elements of `on_true` where `mask` is true, and those of `on_false` elsewhere."""

    mask = Operand(elements=PREDICATE)
    on_true = OperandOfAnyRank("value")
    on_false = OperandOfAnyRank("value")
    assembly = "$mask, $on_true, $on_false : functional-type"
    traits = Trait.MOVES

    def infer(self) -> tuple[Type, ...]:
        """Returns the type that the mask and the values are broadcast to."""
        mask, chosen, other = self.mask, self.on_true, self.on_false
        demand_one_element(self, [chosen, other])
        return (broadcast(self, (mask, chosen, other), chosen.element),)
