"""The operations that order elements: sort and top_k."""

from __future__ import annotations

from topos.stablehlo.definition import (
    Definition,
    Operand,
    OperandOfAnyRank,
    define,
    elements_of,
    extents_of,
)
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.dialect._reducers import bodies, returned_scalar
from topos.stablehlo.ir import Tensor, Type, Unranked
from topos.stablehlo.rounding import EXACT
from topos.stablehlo.shapes import bounds_of, merged, of_bounds
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Integer, Truth
from topos.stablehlo.types import PREDICATE


@define("stablehlo.sort")
class Sort(Definition):
    """The inputs, sorted together along the axis `dimension` as a comparator says."""

    first = Operand("an input")
    dimension = Integer(default=-1)
    is_stable = Truth()
    traits = Trait.MOVES | Trait.DECIDES
    operand_order = "inputs of one shape, one or more"
    region_order = (
        "comparator: takes two elements of each input in turn; returns whether the first is less",
    )

    def infer(self) -> tuple[Type, ...]:
        inputs = self._inputs()
        (comparator,) = bodies(self)
        known = merged(self, inputs, "inputs")
        self._axis()
        (needed,) = self.block_types(1)
        returned_scalar(self, comparator, needed, "comparator", PREDICATE)
        return tuple([known._replace(element=taken.element) for taken in inputs])

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        scalars = [Tensor((), taken.element) for taken in self._inputs()]
        return (tuple([scalar for scalar in scalars for _ in range(2)]),)

    def region_runs(self, region: int) -> int:
        """Returns the comparisons of a merge sort along the axis: ceil(log2(n)) an element."""
        extent = extents_of(self.first)[self._axis()]
        return elements_of((self.first,)) * (max(extent, 1) - 1).bit_length()

    def _axis(self) -> int:
        rank, axis = len(self.first.shape), self.dimension
        if not -rank <= axis < rank:
            self.refuse(f"needs a dimension from {-rank} to below {rank}, got {axis}")
        return axis

    def _inputs(self) -> tuple[Tensor, ...]:
        return tuple([holding(self, type, "an input") for type in self.operands])


@define("chlo.top_k")
class TopK(Definition):
    """The `k` largest elements along the last axis of `operand`, and their indices."""

    operand = OperandOfAnyRank()
    k = Integer(least=0)
    is_stable = Truth(default=True)
    assembly = "($operand, k = $k) : operand-types -> result-types"
    traits = Trait.DECIDES
    rounding = EXACT

    def infer(self) -> tuple[Type, ...]:
        operand, count = self.operand, self.k
        if isinstance(operand, Unranked):
            return (operand, Unranked("i32"))
        if not operand.shape:
            self.refuse(f"needs an operand of rank 1 or more, got {operand}")
        if operand.shape[-1] is not None and operand.shape[-1] < count:
            self.refuse(f"needs a last axis of {count} elements or more, got {operand}")
        shape, bounds = (*operand.shape[:-1], count), bounds_of(operand)
        return (of_bounds(shape, operand.element, bounds), of_bounds(shape, "i32", bounds))
