"""Orders on IREE: sorts that keep ties, and the first elements of an order, ApproxTopK's too."""

from __future__ import annotations

from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer
from topos.runtimes.iree.keys import KEYS, MARK, chosen
from topos.runtimes.iree.site import Site

APPROX: Final = "ApproxTopK"


def keep_ties(site: Site) -> None:
    """Makes a sort stable.

    IREE exchanges two neighbours unless the first comes before the second, so also where neither
    does. Asked whether the second does not come before the first, it leaves these as they are.
    Where the first of sorted values and places are sliced off, IREE sees a top_k, without its ties:
    a barrier hides the results from that.
    """
    operation = site.operation
    block = operation.regions[0].blocks[0]
    pairs = [*block.arguments]
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        third = block.add_argument(first.type, operation.location)
        first.replace_all_uses_with(third)
        second.replace_all_uses_with(first)
        third.replace_all_uses_with(second)
        block.erase_argument(len(pairs))
    last = block.operations[len(block.operations) - 1].operation
    last.operands[0] = Writer(site.ir, last)("not", *last.operands)
    behind = Writer(site.ir, operation, behind=True)
    for result in site.results:
        hidden = behind("optimization_barrier", result)
        result.replace_all_uses_except(hidden, hidden.owner.operation)


def top_k(site: Site) -> list[Binding] | None:
    """Returns the results of a top_k."""
    if MARK in site.operation.attributes:
        return None
    (operand,) = site.operands
    element = str(operand.type.element_type)
    if element not in KEYS:
        raise UnsupportedError(f"iree takes no top_k of elements {element}")
    site.require_static()
    count = int(site.ir.IntegerAttr(site.operation.attributes["k"]))
    return [*chosen(site, operand, count, largest=True)]


def approx_top_k(site: Site) -> list[Binding] | None:
    """Returns the results of an ApproxTopK of values and their places, chosen exactly.

    IREE's own mistakes the smallest elements.
    """
    ir, operation = site.ir, site.operation
    if ir.StringAttr(operation.attributes["call_target_name"]).value != APPROX:
        return None
    axis, element = _axis(site), site.element
    if not _counts(ir, site.operands[1], axis):
        raise UnsupportedError(f"iree takes {APPROX} of elements with their places alone")
    if element not in KEYS:
        raise UnsupportedError(f"iree takes no {APPROX} of elements {element}")
    values, largest = site.operands[0], _is_largest(site)
    count = site.results[0].type.shape[axis]
    found = chosen(site, _moved(site.write, values, axis, -1), count, largest)
    best, places = (_moved(site.write, each, -1, axis) for each in found)
    return [best, site.write.convert(places, str(site.results[1].type.element_type))]


def _moved(write: Writer, value: Binding, source: int, target: int) -> Binding:
    """Returns `value` with one axis moved to another place, from or to the last."""
    shape = value.type.shape
    axes = [*range(len(shape))]
    axes.insert(len(shape) - 1 if target == -1 else target, axes.pop(source))
    type = write.type([shape[axis] for axis in axes], value.type.element_type)
    return write("transpose", value, to=type, permutation=axes)


def _is_largest(site: Site) -> bool:
    """Returns whether the comparator takes the larger of two first elements, or the smaller."""
    ir = site.ir
    (symbol,) = ir.ArrayAttr(site.operation.attributes["called_computations"])
    module = site.operation
    while module.parent is not None:
        module = module.parent
    block = ir.SymbolTable(module)[ir.FlatSymbolRefAttr(symbol).value].regions[0].blocks[0]
    first, *rest = (each.operation for each in block.operations)
    if first.name == "stablehlo.compare" and [*first.operands] == [*block.arguments][:2]:
        direction = str(first.attributes["comparison_direction"]).rstrip(">").split()[-1]
        if direction in ("GT", "LT") and len(rest) == 1 and rest[0].operands[0] == first.result:
            return direction == "GT"
    raise UnsupportedError(f"iree takes {APPROX} of the largest or the smallest elements alone")


def _axis(site: Site) -> int:
    ir = site.ir
    for name in ("mhlo.backend_config", "backend_config"):
        found = site.operation.attributes.get(name)
        if isinstance(found, ir.DictAttr) and "reduction_dim" in found:
            return int(ir.IntegerAttr(found["reduction_dim"]))
    raise UnsupportedError(f"iree takes {APPROX} with a reduction_dim in its configuration alone")


def _counts(ir: Binding, value: Binding, axis: int) -> bool:
    """Returns whether a value is the places along an axis."""
    maker = value.owner
    if isinstance(maker, ir.Block):
        return False
    if maker.name == "stablehlo.broadcast_in_dim":
        axes = [*ir.DenseI64ArrayAttr(maker.attributes["broadcast_dimensions"])]
        return axis in axes and _counts(ir, maker.operands[0], axes.index(axis))
    return maker.name == "stablehlo.iota" and int(maker.attributes["iota_dimension"]) == axis
