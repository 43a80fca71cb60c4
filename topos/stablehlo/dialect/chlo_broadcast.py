"""The CHLO operations whose operands are broadcast to one shape first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from topos.stablehlo.definition import Definition, Operand, OperandOfAnyRank, define
from topos.stablehlo.dialect._alike import Elementwise
from topos.stablehlo.dialect._demands import axes_below, demand_one_element, distinct
from topos.stablehlo.dialect.chlo_functions import FORMULA
from topos.stablehlo.ir import Tensor, Type, Unranked
from topos.stablehlo.opview import OpView
from topos.stablehlo.rounding import EXACT, Units
from topos.stablehlo.shapes import TensorType, bounds_of, of_bounds
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes, Choice
from topos.stablehlo.types import FLOATS, INTEGERS, PREDICATE

_DIRECTIONS: Final = ("EQ", "NE", "GE", "GT", "LE", "LT")
_COMPARISONS: Final = ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
_BITWISE: Final = PREDICATE | INTEGERS

# The extent of an axis, and the bound of one that is dynamic and has one.
Axis = tuple[int | None, int | None]


class _Broadcast(Elementwise):
    """Two operands of one element that are broadcast together; by default the result keeps it.

    Axes are aligned at the last one, or `broadcast_dimensions` says where those of the operand of
    lower rank go.
    """

    left = OperandOfAnyRank("operand")
    right = OperandOfAnyRank("operand")
    broadcast_dimensions = Axes(default=(), strict=True)
    assembly = "$left, $right : functional-type"
    traits = Trait.NONE

    def joined(self) -> TensorType:
        """Returns the type that the operands are broadcast to."""
        left, right = self.taken()
        if "broadcast_dimensions" not in self.operation.attributes:
            return _broadcast(self, (left, right), left.element)
        return _broadcast_along(self, left, right, self.broadcast_dimensions)


BroadcastAdd = _Broadcast.named("chlo.broadcast_add", "`left` plus `right`.", Units(1))
BroadcastAtan2 = _Broadcast.named(
    "chlo.broadcast_atan2",
    "The angle of the point with `left` as its height and `right` as its width.",
    Units(4),
)
BroadcastDivide = _Broadcast.named(
    "chlo.broadcast_divide", "`left` divided by `right`.", Units(2), Trait.UNDERFLOWS
)
BroadcastMaximum = _Broadcast.named(
    "chlo.broadcast_maximum", "The greater of `left` and `right`.", EXACT
)
BroadcastMinimum = _Broadcast.named(
    "chlo.broadcast_minimum", "The lesser of `left` and `right`.", EXACT
)
BroadcastMultiply = _Broadcast.named(
    "chlo.broadcast_multiply", "`left` times `right`.", Units(1), Trait.UNDERFLOWS
)
BroadcastNextAfter = _Broadcast.named(
    "chlo.broadcast_next_after", "The number next to `left` on the way to `right`.", EXACT
)
BroadcastPolygamma = _Broadcast.named(
    "chlo.broadcast_polygamma", "The polygamma function of the order `left` at `right`.", FORMULA
)
BroadcastPower = _Broadcast.named(
    "chlo.broadcast_power", "`left` to the power of `right`.", Units(4), Trait.UNDERFLOWS
)
BroadcastRemainder = _Broadcast.named(
    "chlo.broadcast_remainder", "What the division of `left` by `right` leaves over.", EXACT
)
BroadcastShiftLeft = _Broadcast.named(
    "chlo.broadcast_shift_left", "The bits of `left` moved up by `right` places.", EXACT
)
BroadcastShiftRightArithmetic = _Broadcast.named(
    "chlo.broadcast_shift_right_arithmetic",
    "The bits of `left` moved down by `right` places, filled with the sign.",
    EXACT,
)
BroadcastShiftRightLogical = _Broadcast.named(
    "chlo.broadcast_shift_right_logical",
    "The bits of `left` moved down by `right` places, filled with zeros.",
    EXACT,
)
BroadcastSubtract = _Broadcast.named("chlo.broadcast_subtract", "`left` less `right`.", Units(1))


class _Bitwise(_Broadcast):
    elements = _BITWISE
    rounding = EXACT


BroadcastAnd = _Bitwise.named("chlo.broadcast_and", "The bits that both `left` and `right` have.")
BroadcastOr = _Bitwise.named("chlo.broadcast_or", "The bits that `left` or `right` has.")
BroadcastXor = _Bitwise.named("chlo.broadcast_xor", "The bits that one of `left` and `right` has.")


@define("chlo.broadcast_zeta")
class BroadcastZeta(_Broadcast):
    """The Hurwitz zeta function of the exponent `left` and the offset `right`."""

    elements = FLOATS
    rounding = FORMULA
    # It has no custom form, nor have those below.
    assembly = ""


@define("chlo.broadcast_complex")
class BroadcastComplex(_Broadcast):
    """The complex numbers with `left` as real and `right` as imaginary parts."""

    elements = frozenset({"f32", "f64"})
    assembly = ""
    rounding = EXACT
    made = "complex<{}>".format


@define("chlo.broadcast_compare")
class BroadcastCompare(_Broadcast):
    """Whether `left` and `right` are in the order `comparison_direction`."""

    comparison_direction = Choice("#chlo<comparison_direction", _DIRECTIONS)
    compare_type = Choice("#chlo<comparison_type", _COMPARISONS, default="NOTYPE")
    assembly = ""
    traits = Trait.DECIDES
    rounding = EXACT

    def infer(self) -> tuple[Type, ...]:
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
        mask, chosen, other = self.mask, self.on_true, self.on_false
        demand_one_element(self, [chosen, other])
        return (_broadcast(self, (mask, chosen, other), chosen.element),)


def _broadcast(view: OpView, types: Sequence[TensorType], element: str) -> TensorType:
    """Returns the type that `types` are broadcast to, their axes aligned at the last one."""
    ranked = [_axes(type) for type in types if isinstance(type, Tensor)]
    if len(ranked) < len(types):
        return Unranked(element)
    rank = max(map(len, ranked))
    padded = [[(1, None)] * (rank - len(axes)) + axes for axes in ranked]
    return _of_axes(reduce(lambda one, other: _joined(view, types, one, other), padded), element)


def _broadcast_along(
    view: OpView, left: TensorType, right: TensorType, along: Sequence[int]
) -> TensorType:
    """Returns the type of the operand of higher rank, whose axes `along` the other's stretch."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return Unranked(left.element)
    small, large = sorted((left, right), key=lambda type: len(type.shape))
    if len(along) != len(small.shape):
        needs = f"an axis for each of {small} in broadcast_dimensions"
        view.refuse(f"needs {needs}, got {list(along)}")
    axes_below(view, along, len(large.shape), "broadcast_dimensions")
    distinct(view, along, "broadcast_dimensions")
    axes = _axes(large)
    joined = _joined(view, (small, large), _axes(small), [axes[index] for index in along])
    for index, axis in zip(along, joined, strict=True):
        axes[index] = axis
    return _of_axes(axes, left.element)


def _axes(type: Tensor) -> list[Axis]:
    return list(zip(type.shape, bounds_of(type), strict=True))


def _of_axes(axes: Sequence[Axis], element: str) -> Tensor:
    shape = tuple([extent for extent, _ in axes])
    return of_bounds(shape, element, tuple([bound for _, bound in axes]))


def _joined(
    view: OpView, types: Sequence[TensorType], one: Sequence[Axis], other: Sequence[Axis]
) -> list[Axis]:
    joined = [_axis(*pair) for pair in zip(one, other, strict=True)]
    if None in joined:
        view.refuse(f"cannot broadcast {', '.join(map(str, types))} together")
    return [axis for axis in joined if axis is not None]


def _axis(one: Axis, other: Axis) -> Axis | None:
    """Returns two axes joined, or `None`; an unknown one is as the other, or stretches to it."""
    if one == other or other[0] == 1:
        return one
    if one[0] == 1:
        return other
    if one[0] is not None and other[0] is not None:
        return None
    known = other[0] if one[0] is None else one[0]
    return (known if known and known > 1 else None), None
