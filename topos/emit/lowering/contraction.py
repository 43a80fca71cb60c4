"""The matrix product and the transpose."""

from __future__ import annotations

from topos.emit.text import integers
from topos.emit.writer import Site, Ssa, lower
from topos.op import MatMul, Transpose
from topos.payload import TensorType, f32


@lower.rule(MatMul)
def matmul(_operation: MatMul, site: Site) -> Ssa:
    left, right = map(site.widened, site.operands)
    rank = len(site.type.shape)
    batch = integers(range(rank - 2))
    attributes = f", batching_dims = {batch} x {batch}" if rank > 2 else ""
    attributes += f", contracting_dims = [{rank - 1}] x [{rank - 2}]"
    if site.exact and left.type.element is f32:
        # A runtime may otherwise round the operands of an f32 product to fewer bits.
        attributes += ", precision = [HIGHEST, HIGHEST]"
    type = TensorType(site.type.shape, left.type.element)
    product = site.apply("stablehlo.dot_general", (left, right), type, attributes)
    return site.convert(product, site.type.element)


@lower.rule(Transpose)
def transpose(_operation: Transpose, site: Site) -> Ssa:
    rank = len(site.type.shape)
    order = [*range(rank - 2), rank - 1, rank - 2]
    dims = f", dims = {integers(order)}"
    return site.apply("stablehlo.transpose", site.operands, site.type, dims)
