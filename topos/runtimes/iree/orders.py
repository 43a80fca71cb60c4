"""Orders on IREE: sorts that keep ties, and the first elements of an order, ApproxTopK's too."""

from __future__ import annotations

from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer
from topos.runtimes.iree.site import Site

# By the element, the signed integer that is in its order.
KEYS: Final = {
    **{"bf16": "i16", "f16": "i16", "f32": "i32", "f64": "i64"},
    **dict.fromkeys(("i1", "i8", "i16", "i32", "ui8", "ui16"), "i32"),
    **dict.fromkeys(("i64", "ui32", "ui64"), "i64"),
}
FLOATS: Final = frozenset({"bf16", "f16", "f32", "f64"})
# Elements with more integers than an f64 holds.
WIDE: Final = frozenset({"f64", "i64", "ui64"})
# On a top_k whose elements are such integers already.
MARK: Final = "topos.keys"
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
    return [*_chosen(site, operand, count, largest=True)]


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
    found = _chosen(site, _moved(site.write, values, axis, -1), count, largest)
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


def _chosen(site: Site, elements: Binding, count: int, largest: bool) -> tuple[Binding, Binding]:
    """Returns the `count` largest or smallest elements along the last axis, and their places.

    Of equal elements the first in place comes first. Elements of up to 32 bits are chosen by
    IREE's own top_k as integers in f64, for it passes over NaN and keeps ties of floats alone.
    Others are sorted, which takes longer.
    """
    element = str(elements.type.element_type)
    keys = _flipped(site.write, _keyed(site.write, elements), largest)
    choose = _sorted if element in WIDE else _own
    first, places = choose(site, keys, count)
    return _restored(site.write, _flipped(site.write, first, largest), element), places


def _own(site: Site, keys: Binding, count: int) -> tuple[Binding, Binding]:
    write, kept = site.write, (*keys.type.shape[:-1], count)
    types = [write.type(kept, "f64"), write.type(kept, "i32")]
    best, places = write.add(
        "chlo.top_k", [write.convert(keys, "f64")], types, {"k": count, MARK: "unit"}
    ).results
    return write.convert(best, str(keys.type.element_type)), places


def _sorted(site: Site, keys: Binding, count: int) -> tuple[Binding, Binding]:
    write, shape, axis = site.write, keys.type.shape, keys.type.rank - 1
    places = write("iota", to=write.type(shape, "i32"), iota_dimension=axis)
    given, attributes = [keys, places], {"dimension": axis, "is_stable": "true"}
    sort = write.add("sort", given, [each.type for each in given], attributes, regions=1)
    scalars = [write.type([], each.type.element_type) for each in given for _ in range(2)]
    (first, second, *_), inner = write.body(sort, *scalars)
    inner.add("return", [inner.compare(first, "GT", second)], [])
    limits = (*shape[:-1], count)
    best, where = (write.slice(each, [0] * len(shape), limits) for each in sort.results)
    return best, where


def _keyed(write: Writer, elements: Binding) -> Binding:
    """Returns the integers of elements; floats are in their total order."""
    element = str(elements.type.element_type)
    cast = write.bits if _is_cast(element) else write.convert
    return _ordered(write, cast(elements, KEYS[element]), element)


def _restored(write: Writer, keys: Binding, element: str) -> Binding:
    """Returns the elements of integers: each step of `_keyed` undoes itself."""
    cast = write.bits if _is_cast(element) else write.convert
    return cast(_ordered(write, keys, element), element)


def _is_cast(element: str) -> bool:
    return element in FLOATS or element == "ui64"


def _flipped(write: Writer, keys: Binding, largest: bool) -> Binding:
    """Returns integers, in the opposite order if not `largest`."""
    return keys if largest else _exclusive(write, keys, -1)


def _ordered(write: Writer, keys: Binding, element: str) -> Binding:
    """Returns integers in their order for bits, and bits for such integers."""
    if element in FLOATS:
        mirrored = _exclusive(write, keys, 2 ** (int(KEYS[element][1:]) - 1) - 1)
        is_negative = write.compare(keys, "LT", write.zero(keys.type))
        return write.select(is_negative, mirrored, keys)
    # The middle of the unsigned numbers becomes zero.
    return _exclusive(write, keys, -(2**63)) if element == "ui64" else keys


def _exclusive(write: Writer, keys: Binding, mask: int) -> Binding:
    return write("xor", keys, write.constant(mask, keys.type))
