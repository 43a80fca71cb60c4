"""The context of an operation: what its builder is given to make a kernel of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from topos.runtimes.interpreter.program import Array, Kernel, Program
from topos.stablehlo.definition import Definition
from topos.stablehlo.ir import Symbol, Tensor, Type
from topos.stablehlo.opview import OpView


class Constant(NamedTuple):
    """What a builder returns in place of a kernel where the result is known already."""

    array: Array


D = TypeVar("D", bound=Definition)
# Takes the name of a function and the line that calls it.
Callee = Callable[[str, int], Program]


class BuildContext(OpView, Generic[D]):
    """One verified operation with its regions compiled.

    `op` has its attributes, decoded as it declares them. A kernel is called with the operands, then
    with `captures` values that the regions use from outside, which each region's program takes
    after its own arguments. `exact` tells the posture: the oracle's bits, or whatever numpy is
    fastest at. The values are tensors everywhere but at the operations that are there for tuples
    and tokens.
    """

    operands: tuple[Tensor, ...]
    results: tuple[Tensor, ...]

    def __init__(
        self, op: D, regions: tuple[Program, ...], captures: int, function: Callee, exact: bool
    ) -> None:
        super().__init__(op.operation, op.operands, op.results, op.constants)
        self.op, self.regions, self.captures = op, regions, captures
        self.function, self.exact = function, exact


Builder = Callable[[BuildContext[Any]], Kernel | Constant]
Builders = Mapping[type[Definition], Builder]


def always(kernel: Kernel) -> Builder:
    """Returns the builder of an operation with one kernel, whatever its types and attributes."""
    return lambda context: kernel


def unchanged(array: Array) -> Array:
    """Returns `array`: the kernel of what changes nothing."""
    return array


def is_scalar(type: Type) -> bool:
    """Returns whether a value of `type` is a tensor of no axes."""
    return isinstance(type, Tensor) and not type.shape


def works_pointwise(context: BuildContext[Any]) -> bool:
    """Returns whether the kernel of `context`, all of scalars, also computes element by element."""
    op = context.op
    if op.calls:
        callee = Symbol(context.attribute(op.calls))
        return context.function(callee, op.operation.line).elementwise
    if op.is_carrier:
        return all(region.elementwise for region in context.regions)
    return op.is_elementwise or moves_nothing(context)


def moves_nothing(context: BuildContext[Any]) -> bool:
    """Returns whether `context` gives its one scalar another layout, of which there is but one."""
    if not context.op.is_layout:
        return False
    return all(map(is_scalar, (*context.operands, *context.results)))
