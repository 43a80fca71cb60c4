"""ApproxTopK on IREE, chosen exactly: its own mistakes the smallest elements."""

from __future__ import annotations

from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import listed, tensor
from topos.runtimes.iree.keys import KEYS
from topos.runtimes.iree.orders import Order

__all__ = ["approx_top_k"]

TARGET: Final = "ApproxTopK"


def approx_top_k(ir: Binding, operation: Binding) -> str | None:
    """Returns the function for an ApproxTopK of values and their places; None for other calls."""
    if ir.StringAttr(operation.attributes["call_target_name"]).value != TARGET:
        return None
    values, results = operation.operands[0].type, [each.type for each in operation.results]
    axis, element = _axis(ir, operation), str(values.element_type)
    if not _counts(ir, operation.operands[1], axis):
        raise UnsupportedError(f"iree takes {TARGET} of elements with their places alone")
    if element not in KEYS:
        raise UnsupportedError(f"iree takes no {TARGET} of elements {element}")
    moved = [at for at in range(values.rank) if at != axis] + [axis]
    back = [moved.index(at) for at in range(values.rank)]
    shape, count = tuple(values.shape[at] for at in moved), results[0].shape[axis]
    order = Order(shape, element, count, _is_largest(ir, operation))
    kept, places = (*shape[:-1], count), tensor(results[1].shape, "i32")
    given = ", ".join(f"%p{at}: {each.type}" for at, each in enumerate(operation.operands))
    return f"""
    func.func private @f({given}) -> ({results[0]}, {results[1]}) {{
      %x = stablehlo.transpose %p0, dims = {listed(moved)} : ({values})
        -> {tensor(shape, element)}
      {order.text()}
      %rv = stablehlo.transpose %v, dims = {listed(back)} : ({tensor(kept, element)})
        -> {results[0]}
      %ri = stablehlo.transpose %i, dims = {listed(back)} : ({tensor(kept, "i32")}) -> {places}
      %rn = stablehlo.convert %ri : ({places}) -> {results[1]}
      return %rv, %rn : {results[0]}, {results[1]}
    }}"""


def _is_largest(ir: Binding, operation: Binding) -> bool:
    """Returns whether the comparator takes the larger of two first elements, or the smaller."""
    (symbol,) = ir.ArrayAttr(operation.attributes["called_computations"])
    module = operation
    while module.parent is not None:
        module = module.parent
    block = ir.SymbolTable(module)[ir.FlatSymbolRefAttr(symbol).value].regions[0].blocks[0]
    first, *rest = (each.operation for each in block.operations)
    if first.name == "stablehlo.compare" and [*first.operands] == [*block.arguments][:2]:
        direction = str(first.attributes["comparison_direction"]).rstrip(">").split()[-1]
        if direction in ("GT", "LT") and len(rest) == 1 and rest[0].operands[0] == first.result:
            return direction == "GT"
    raise UnsupportedError(f"iree takes {TARGET} of the largest or the smallest elements alone")


def _axis(ir: Binding, operation: Binding) -> int:
    for name in ("mhlo.backend_config", "backend_config"):
        found = operation.attributes.get(name)
        if isinstance(found, ir.DictAttr) and "reduction_dim" in found:
            return int(ir.IntegerAttr(found["reduction_dim"]))
    raise UnsupportedError(f"iree takes {TARGET} with a reduction_dim in its configuration alone")


def _counts(ir: Binding, value: Binding, axis: int) -> bool:
    """Returns whether a value is the places along an axis."""
    maker = value.owner
    if isinstance(maker, ir.Block):
        return False
    if maker.name == "stablehlo.broadcast_in_dim":
        axes = [*ir.DenseI64ArrayAttr(maker.attributes["broadcast_dimensions"])]
        return axis in axes and _counts(ir, maker.operands[0], axes.index(axis))
    return maker.name == "stablehlo.iota" and int(maker.attributes["iota_dimension"]) == axis
