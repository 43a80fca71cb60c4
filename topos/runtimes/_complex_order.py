"""The order of complex numbers, of which XLA and IREE compare the real parts alone."""

from __future__ import annotations

from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer, shaped

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
    write = Writer(ir, operation)
    made, *others = (broadcast_operand(ir, write, operation, each) for each in operation.operands)
    # A clamp is a minimum of a maximum.
    for other, order in zip(others, [direction] if direction else ["GE", "LE"], strict=True):
        made = _ordered(ir, write, (made, other), order, name != "compare")
    operation.results[0].replace_all_uses_with(made)
    operation.erase()


def _ordered(
    ir: Binding, write: Writer, pair: tuple[Binding, Binding], direction: str, extreme: bool
) -> Binding:
    """Returns where the first of a pair comes in `direction` of the other, or their extreme."""
    first, second = pair
    part = shaped(ir, first.type, str(ir.ComplexType(first.type.element_type).element_type))
    a, b = (write(name, first, to=part) for name in ("real", "imag"))
    c, d = (write(name, second, to=part) for name in ("real", "imag"))
    beyond = write.compare(a, f"{direction[0]}T", c)
    tie = write("and", write.compare(a, "EQ", c), write.compare(b, direction, d))
    if not extreme:
        return write("or", beyond, tie)
    nan = write("or", write.compare(a, "NE", a), write.compare(b, "NE", b))
    ahead = write("and", beyond, write.compare(d, "EQ", d))
    kept = write("or", nan, write("or", ahead, tie))
    return write.select(kept, first, second)


def broadcast_operand(ir: Binding, write: Writer, operation: Binding, value: Binding) -> Binding:
    """Returns an operand in the shape of the result."""
    type, result = value.type, operation.results[0].type
    if [*type.shape] == [*result.shape]:
        return value
    if not type.has_static_shape or not result.has_static_shape:
        raise UnsupportedError(
            f"{operation.name} of {type.element_type} needs fixed shapes, got {type}"
        )
    axes = [*range(result.rank - type.rank, result.rank)]
    if "broadcast_dimensions" in operation.attributes and type.rank < result.rank:
        axes = [*ir.DenseI64ArrayAttr(operation.attributes["broadcast_dimensions"])]
    return write.broadcast(value, axes, shaped(ir, result, str(type.element_type)))
