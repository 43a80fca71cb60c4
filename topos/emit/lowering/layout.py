"""Layout: the same elements under another shape or axis order."""

from __future__ import annotations

from topos.emit.text import integers
from topos.emit.writer import Site, Ssa, lower
from topos.op import Permute, Reshape


@lower.rule(Reshape)
def reshape(_operation: Reshape, site: Site) -> Ssa:
    return site.apply("stablehlo.reshape", site.operands, site.type)


@lower.rule(Permute)
def permute(operation: Permute, site: Site) -> Ssa:
    dims = f", dims = {integers(operation.axes)}"
    return site.apply("stablehlo.transpose", site.operands, site.type, dims)
