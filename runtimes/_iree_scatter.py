"""Scatters that write to a copy with a margin: what StableHLO drops lands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from topos.errors import UnsupportedError
from topos.runtimes._iree_site import IndexSite, along
from topos.runtimes._iree_text import listed, tensor, zero
from topos.runtimes._mlir import Binding

__all__ = ["keep_scatter_inside"]


def keep_scatter_inside(site: IndexSite) -> None:
    """Gives a scatter a margin for what it drops, unless its text keeps all of it inside.

    Raises `UnsupportedError` for windows that may lie outside in part: IREE has no such scatter.
    """
    operation, count = site.operation, len(site.operation.results)
    indices, operand = operation.operands[count], operation.operands[0].type
    fields = site.fields("scatter_dimension_numbers")
    moved = fields.get("scatter_dims_to_operand_dims", ())
    window = _window(fields, operand.rank, operation.operands[count + 1].type.shape)
    extents = [operand.shape[axis] for axis in moved]
    slack = [operand.shape[axis] - window[axis] for axis in moved]
    (vector,) = fields.get("index_vector_dim", (0,))
    if not moved or 0 in indices.type.shape:
        return
    if site.stays(indices, min(slack)):
        operation.operands[count] = site.inside(indices, slack, vector)
        return
    if any(window[axis] > 1 for axis in moved):
        raise UnsupportedError("iree takes no scatter whose windows may overlap in part")
    operation.operands[count] = _into_margin(site, indices, extents, vector)
    # What is dropped goes behind the last place, from wherever it was.
    operation.attributes["indices_are_sorted"] = site.ir.BoolAttr.get(False)
    for place in range(count):
        _widen(site, place, set(moved))


def _into_margin(site: IndexSite, indices: Binding, extents: Sequence[int], vector: int) -> Binding:
    """Returns the indices in the widened operand: what lies outside goes behind the last place."""
    largest, type = site.largest(indices), indices.type
    wide = largest > 2**31 or max(extents) >= 2**31
    # First in the indices' own type, for an unsigned one may be too large for any signed.
    capped = [min(each, largest) for each in extents]
    signed, truth = tensor(type.shape, "i64" if wide else "i32"), tensor(type.shape, "i1")
    start = site.ir.RankedTensorType(site.ir.Type.parse(signed))
    text = f"""
    func.func private @f(%i: {type}) -> {signed} {{
      {along("ends", capped, type, vector)}
      %capped = stablehlo.minimum %i, %ends : {type}
      %start = stablehlo.convert %capped : ({type}) -> {signed}
      %first = stablehlo.constant dense<0> : {signed}
      {along("behind", extents, start, vector)}
      %valid = stablehlo.compare GE, %start, %first : ({signed}, {signed}) -> {truth}
      %placed = stablehlo.select %valid, %start, %behind : {truth}, {signed}
      return %placed : {signed}
    }}"""
    return site.put(text, [indices])[0]


def _widen(site: IndexSite, place: int, moved: set[int]) -> None:
    """Gives an operand one more place along each axis of `moved`, which the result loses again."""
    operation, type = site.operation, site.operation.operands[place].type
    element, none = str(type.element_type), [0] * type.rank
    if element.startswith("!"):
        raise UnsupportedError(f"iree takes no scatter of elements {element}")
    margin = [int(axis in moved) for axis in range(type.rank)]
    wide = tensor([sum(pair) for pair in zip(type.shape, margin, strict=True)], element)
    pad = f"""
    func.func private @f(%x: {type}) -> {wide} {{
      %z = stablehlo.constant dense<{zero(element)}> : tensor<{element}>
      %p = stablehlo.pad %x, %z, low = [{listed(none)}], high = [{listed(margin)}],
        interior = [{listed(none)}] : ({type}, tensor<{element}>) -> {wide}
      return %p : {wide}
    }}"""
    operation.operands[place] = site.put(pad, [operation.operands[place]])[0]
    result = operation.results[place]
    result.set_type(operation.operands[place].type)
    limits = ", ".join(f"0:{extent}" for extent in type.shape)
    cut = f"""
    func.func private @f(%x: {wide}) -> {type} {{
      %s = stablehlo.slice %x [{limits}] : ({wide}) -> {type}
      return %s : {type}
    }}"""
    (kept,) = site.put(cut, [result], after=True)
    result.replace_all_uses_except(kept, kept.owner.operation)


def _window(
    fields: Mapping[str, tuple[int, ...]], rank: int, update: Sequence[int]
) -> dict[int, int]:
    """Returns the size of a window of `update` along each axis of the operand."""
    flat = {*fields.get("inserted_window_dims", ()), *fields.get("input_batching_dims", ())}
    sizes = iter([update[axis] for axis in fields.get("update_window_dims", ())])
    return {axis: 1 if axis in flat else next(sizes) for axis in range(rank)}
