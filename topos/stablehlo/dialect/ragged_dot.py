"""chlo.ragged_dot, a product whose rows, columns or batches fall into groups."""

from __future__ import annotations

from math import prod

from topos.stablehlo.definition import Definition, Operand, Result, define, extents_of
from topos.stablehlo.dialect._demands import Precisions, axes_below, distinct
from topos.stablehlo.dimension_numbers import RAGGED_DOT, Numbers, RaggedDotNumbers
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.rounding import Sums
from topos.stablehlo.shapes import Shape, extents_agree, shapes_agree
from topos.stablehlo.types import INTEGERS


@define("chlo.ragged_dot")
class RaggedDot(Definition):
    """The product of `left` and `right`, whose ragged axis falls into groups of `group_sizes`."""

    left = Operand("left operand")
    right = Operand("right operand")
    group_sizes = Operand(elements=INTEGERS)
    result = Result(is_inferred=True)
    ragged_dot_dimension_numbers = Numbers(RAGGED_DOT, RaggedDotNumbers)
    precision_config = Precisions()
    rounding = Sums(products=True)

    def infer(self) -> tuple[Type, ...]:
        """Returns the groups of a contraction, batches, then what is left of both operands.

        The element is the left one's unless one is stated.
        """
        left, numbers = self.left, self.ragged_dot_dimension_numbers
        self._demand_dot()
        if len(numbers.lhs_ragged_dimensions) != 1:
            got = list(numbers.lhs_ragged_dimensions)
            self.refuse(f"needs 1 axis in lhs_ragged_dimensions, got {got}")
        axes_below(self, numbers.lhs_ragged_dimensions, len(left.shape), "lhs_ragged_dimensions")
        self._demand_sizes()
        self._demand_groups()
        return (Tensor(self._shape(), (self.result if self.results else left).element),)

    def flops(self) -> int:
        """Returns a multiplication and an addition for each product that is summed.

        Each place of a ragged axis that is contracted is in the sum of one group alone.
        """
        numbers, left = self.ragged_dot_dimension_numbers, extents_of(self.operands[0])
        terms = prod([left[axis] for axis in numbers.lhs_contracting_dimensions])
        contracted = set(numbers.lhs_ragged_dimensions) <= set(numbers.lhs_contracting_dimensions)
        groups = extents_of(self.operands[2])[-1] if contracted else 1
        return 2 * terms * super().flops() // max(groups, 1)

    def _demand_dot(self) -> None:
        left, right, numbers = self.left, self.right, self.ragged_dot_dimension_numbers
        for side, type in (("lhs", left), ("rhs", right)):
            batching = getattr(numbers, f"{side}_batching_dimensions")
            contracting = getattr(numbers, f"{side}_contracting_dimensions")
            what = f"{side}_batching_dimensions and {side}_contracting_dimensions"
            distinct(self, batching + contracting, what)
            axes_below(self, batching + contracting, len(type.shape), what)
        for kind in ("batching", "contracting"):
            ours = getattr(numbers, f"lhs_{kind}_dimensions")
            theirs = getattr(numbers, f"rhs_{kind}_dimensions")
            pair = (
                tuple([left.shape[axis] for axis in ours]),
                tuple([right.shape[axis] for axis in theirs]),
            )
            if not shapes_agree(*pair):
                got = " and ".join(map(str, map(list, pair)))
                self.refuse(f"needs {kind} dimensions of the same extents, got {got}")

    def _demand_sizes(self) -> None:
        """Refuses sizes that are neither one list nor a list for each part before the ragged."""
        sizes = self.group_sizes
        before = tuple([self.left.shape[axis] for axis in self._before()])
        if len(sizes.shape) == 1:
            return
        if len(sizes.shape) != len(before) + 1 or not shapes_agree(sizes.shape[:-1], before):
            needs = [*before, *sizes.shape[-1:]]
            self.refuse(f"needs group_sizes of the shape {needs}, got {sizes}")

    def _before(self) -> tuple[int, ...]:
        """Returns the left axes before the ragged one: batches, then those of its kind."""
        numbers = self.ragged_dot_dimension_numbers
        (ragged,) = numbers.lhs_ragged_dimensions
        batching, contracting = numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions
        if ragged in batching:
            return batching[: batching.index(ragged)]
        if ragged in contracting:
            return (*batching, *contracting[: contracting.index(ragged)])
        return (*batching, *[axis for axis in range(ragged) if axis not in batching + contracting])

    def _demand_groups(self) -> None:
        right, sizes, numbers = self.right, self.group_sizes, self.ragged_dot_dimension_numbers
        groups, name = numbers.rhs_group_dimensions, "rhs_group_dimensions"
        axes_below(self, groups, len(right.shape), name)
        for other in ("rhs_batching_dimensions", "rhs_contracting_dimensions"):
            distinct(self, groups + getattr(numbers, other), f"{name} and {other}")
        (ragged,) = numbers.lhs_ragged_dimensions
        kept = ragged not in numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions
        if len(groups) != int(kept):
            needs = f"{int(kept)} axes in {name} for the ragged axis {ragged}"
            self.refuse(f"needs {needs}, got {groups}")
        if groups and not extents_agree(sizes.shape[-1], right.shape[groups[0]]):
            self.refuse(f"needs {sizes.shape[-1]} groups in axis {groups[0]} of {right}")

    def _shape(self) -> Shape:
        left, right, numbers = self.left, self.right, self.ragged_dot_dimension_numbers
        (ragged,) = numbers.lhs_ragged_dimensions
        contracted = ragged in numbers.lhs_contracting_dimensions
        batching = numbers.lhs_batching_dimensions
        ours = batching + numbers.lhs_contracting_dimensions
        theirs = (
            numbers.rhs_batching_dimensions
            + numbers.rhs_contracting_dimensions
            + numbers.rhs_group_dimensions
        )
        return (
            *(self.group_sizes.shape[-1:] if contracted else ()),
            *[left.shape[axis] for axis in batching],
            *[extent for axis, extent in enumerate(left.shape) if axis not in ours],
            *[extent for axis, extent in enumerate(right.shape) if axis not in theirs],
        )
