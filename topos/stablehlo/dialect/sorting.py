"""The operations that order elements: sort and top_k."""

from __future__ import annotations

from topos.stablehlo.definition import Definition, OperandOfAnyRank, define
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.dialect._reducers import bodies
from topos.stablehlo.elements import PREDICATE
from topos.stablehlo.ir import FunctionType, Tensor, Type, Unranked
from topos.stablehlo.shapes import bounds_of, merged, of_bounds
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Integer, Truth

__all__ = ["Sort", "TopK"]


@define("stablehlo.sort")
class Sort(Definition):
    """The inputs, sorted together along the axis `dimension` as a comparator says."""

    dimension = Integer(default=-1)
    is_stable = Truth()
    traits = Trait.MOVES | Trait.MHLO
    has_regions = True

    def verify(self) -> None:
        """Refuses results that are not as inferred, then the axis and the comparator."""
        self.demand_results(self.infer())
        rank, axis = len(self._inputs()[0].shape), self.dimension
        if not -rank <= axis < rank:
            self.refuse(f"needs a dimension from {-rank} to below {rank}, got {axis}")
        _ = self.is_stable
        (comparator,) = bodies(self)
        self._demand_comparator(comparator)

    def infer(self) -> tuple[Type, ...]:
        """Returns the type of each input, with all that is known of their one shape."""
        inputs = self._inputs()
        bodies(self)
        known = merged(self, inputs, "inputs")
        return tuple([known._replace(element=taken.element) for taken in inputs])

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        """Returns two scalars of each input."""
        scalars = [Tensor((), taken.element) for taken in self._inputs()]
        return (tuple([scalar for scalar in scalars for _ in range(2)]),)

    def _inputs(self) -> tuple[Tensor, ...]:
        if not self.operands:
            self.refuse("needs 1 or more operands, got 0")
        return tuple([holding(self, type, "an input") for type in self.operands])

    def _demand_comparator(self, body: FunctionType) -> None:
        (needed,) = self.block_types(1)
        if len(body.operands) != len(needed):
            got_count = len(body.operands)
            self.refuse(f"needs a comparator of {len(needed)} arguments, got {got_count}")
        for got, scalar in zip(body.operands, needed, strict=True):
            if got != scalar:
                self.refuse(f"needs a comparator that takes {scalar}, got {got}")
        if len(body.results) != 1:
            self.refuse(f"needs a comparator that returns 1 value, got {len(body.results)}")
        verdict = holding(self, body.results[0], "the comparator's result", PREDICATE)
        if verdict.shape:
            self.refuse(f"needs a comparator that returns tensor<i1>, got {verdict}")


@define("chlo.top_k")
class TopK(Definition):
    """The `k` largest elements along the last axis of `operand`, and their indices."""

    operand = OperandOfAnyRank()
    k = Integer(least=0)
    is_stable = Truth(default=True)
    assembly = "($operand, k = $k) : operand-types -> result-types"

    def verify(self) -> None:
        """Refuses more or fewer operands than one."""
        if len(self.operands) != 1:
            self.refuse(f"needs 1 operand, got {len(self.operands)}")
        inferred = self.infer()
        _ = self.is_stable
        self.demand_results(inferred)

    def infer(self) -> tuple[Type, ...]:
        """Returns the operand's type with `k` elements in its last axis, and indices of i32."""
        operand, count = self.operand, self.k
        if isinstance(operand, Unranked):
            return (operand, Unranked("i32"))
        if not operand.shape:
            self.refuse(f"needs an operand of rank 1 or more, got {operand}")
        if operand.shape[-1] is not None and operand.shape[-1] < count:
            self.refuse(f"needs a last axis of {count} elements or more, got {operand}")
        shape, bounds = (*operand.shape[:-1], count), bounds_of(operand)
        return (of_bounds(shape, operand.element, bounds), of_bounds(shape, "i32", bounds))
