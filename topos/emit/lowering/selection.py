"""Selection by integer indices, and its adjoint."""

from __future__ import annotations

from topos.emit.text import integers, shape_text, tensor_type
from topos.emit.writer import Site, Ssa, functional, lower
from topos.op import Gather, Scatter
from topos.payload import TensorType


@lower.rule(Gather)
def gather(operation: Gather, site: Site) -> Ssa:
    value, indices = site.operands
    axis, rank = operation.axis, len(indices.type.shape)
    chosen = clamped(site, indices, value.type.shape[axis])
    window = [a for a in range(len(site.type.shape)) if not axis <= a < axis + rank]
    sizes = (*value.type.shape[:axis], 1, *value.type.shape[axis + 1 :])
    numbers = (
        f"#stablehlo.gather<offset_dims = {integers(window)}, collapsed_slice_dims = [{axis}],"
        f" start_index_map = [{axis}], index_vector_dim = {rank}>"
    )
    return site.write(
        f'"stablehlo.gather"({value.name}, {chosen.name}) <{{dimension_numbers = {numbers},'
        f" indices_are_sorted = false, slice_sizes = {shape_text(sizes)}}}>",
        functional((value, chosen), site.type),
        site.type,
    )


@lower.rule(Scatter)
def scatter(operation: Scatter, site: Site) -> Ssa:
    updates, indices = site.widened(site.operands[0]), site.operands[1]
    axis, rank = operation.axis, len(indices.type.shape)
    chosen = clamped(site, indices, operation.extent)
    zeros = site.zero(site.type.shape, updates.type.element)
    window = [a for a in range(len(updates.type.shape)) if not axis <= a < axis + rank]
    numbers = (
        f"#stablehlo.scatter<update_window_dims = {integers(window)},"
        f" inserted_window_dims = [{axis}], scatter_dims_to_operand_dims = [{axis}],"
        f" index_vector_dim = {rank}>"
    )
    scalar = tensor_type(TensorType((), updates.type.element))
    held, update, total = site.fresh(), site.fresh(), site.fresh()
    added = site.write(
        f'"stablehlo.scatter"({zeros.name}, {chosen.name}, {updates.name})'
        f" <{{scatter_dimension_numbers = {numbers}, indices_are_sorted = false,"
        f" unique_indices = false}}> ({{\n"
        f"      ^bb0({held}: {scalar}, {update}: {scalar}):\n"
        f"        {total} = stablehlo.add {held}, {update} : {scalar}\n"
        f"        stablehlo.return {total} : {scalar}\n"
        f"    }})",
        functional((zeros, chosen, updates), zeros.type),
        zeros.type,
    )
    return site.convert(added, site.type.element)


def clamped(site: Site, indices: Ssa, extent: int) -> Ssa:
    """Writes `indices` clamped to an axis of `extent`.

    StableHLO defines the clamp, yet one runtime reads foreign memory without it.
    """
    scalar = TensorType((), indices.type.element)
    low, high = site.constant("0", scalar), site.constant(str(extent - 1), scalar)
    return site.apply("stablehlo.clamp", (low, indices, high), indices.type)
