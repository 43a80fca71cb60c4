"""The order of complex numbers, of which XLA and IREE compare the real parts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import listed, shaped, written

__all__ = ["ORDERING", "order_complex"]

EXTREMES: Final = {"maximum": "GE", "minimum": "LE"}
ORDERING: Final = (
    *(f"stablehlo.{name}" for name in ("clamp", "compare", *EXTREMES)),
    *(f"chlo.broadcast_{name}" for name in ("compare", *EXTREMES)),
)


def order_complex(ir: Binding, operation: Binding) -> None:
    """Orders complex numbers by their real parts, and by the imaginary ones where those are equal.

    StableHLO defines comparisons, extremes and clamps so. Of numbers with a NaN an extreme is the
    first, as in the interpreter. Raises `UnsupportedError` where it would have to broadcast to a
    dynamic shape.
    """
    if not isinstance(operation.operands[0].type.element_type, ir.ComplexType):
        return
    name = operation.name.rpartition(".")[2].removeprefix("broadcast_")
    direction = EXTREMES.get(name, "")
    if name == "compare":
        direction = str(operation.attributes["comparison_direction"]).rstrip(">").split()[-1]
        if direction in ("EQ", "NE"):
            return
    made, *others = (_broadcast(ir, operation, place) for place in range(len(operation.operands)))
    # A clamp is a minimum of a maximum.
    for other, order in zip(others, [direction] if direction else ["GE", "LE"], strict=True):
        made = _ordered(ir, operation, (made, other), order, name != "compare")
    operation.results[0].replace_all_uses_with(made)
    operation.erase()


def _ordered(
    ir: Binding, operation: Binding, pair: Sequence[Binding], direction: str, extreme: bool
) -> Binding:
    """Returns where the first of a pair comes in `direction` of the other, or their extreme."""
    first, second = pair
    type = first.type
    part = shaped(ir, type, ir.ComplexType(type.element_type).element_type)
    truth = shaped(ir, type, ir.IntegerType.get_signless(1))
    compared = f": ({part}, {part}) -> {truth}"
    lines = f"""%a = stablehlo.real %x : ({type}) -> {part}
    %b = stablehlo.imag %x : ({type}) -> {part}
    %c = stablehlo.real %y : ({type}) -> {part}
    %d = stablehlo.imag %y : ({type}) -> {part}
    %beyond = stablehlo.compare {direction[0]}T, %a, %c {compared}
    %same = stablehlo.compare EQ, %a, %c {compared}
    %next = stablehlo.compare {direction}, %b, %d {compared}
    %tie = stablehlo.and %same, %next : {truth}"""
    if not extreme:
        lines += f"\n%r = stablehlo.or %beyond, %tie : {truth}"
        return written(ir, operation, truth, lines, x=first, y=second)
    lines += f"""
    %nota = stablehlo.compare NE, %a, %a {compared}
    %notb = stablehlo.compare NE, %b, %b {compared}
    %number = stablehlo.compare EQ, %d, %d {compared}
    %nan = stablehlo.or %nota, %notb : {truth}
    %ahead = stablehlo.and %beyond, %number : {truth}
    %ordered = stablehlo.or %ahead, %tie : {truth}
    %kept = stablehlo.or %nan, %ordered : {truth}
    %r = stablehlo.select %kept, %x, %y : {truth}, {type}"""
    return written(ir, operation, type, lines, x=first, y=second)


def _broadcast(ir: Binding, operation: Binding, place: int) -> Binding:
    """Returns an operand in the shape of the result."""
    value, result = operation.operands[place], operation.results[0].type
    type = value.type
    if [*type.shape] == [*result.shape]:
        return value
    if not type.has_static_shape or not result.has_static_shape:
        raise UnsupportedError(
            f"{operation.name} of complex numbers needs fixed shapes, got {type}"
        )
    axes = [*range(result.rank - type.rank, result.rank)]
    if "broadcast_dimensions" in operation.attributes and type.rank < result.rank:
        axes = [*ir.DenseI64ArrayAttr(operation.attributes["broadcast_dimensions"])]
    made = shaped(ir, result, type.element_type)
    line = f"%r = stablehlo.broadcast_in_dim %x, dims = {listed(axes)} : ({type}) -> {made}"
    return written(ir, operation, made, line, x=value)
