"""Constants; parameters and inputs are arguments of the function and have no lines."""

from __future__ import annotations

from topos.emit.text import dense, tensor_type
from topos.emit.writer import Site, Ssa, lower
from topos.op import Leaf


@lower.rule(Leaf)
def leaf(operation: Leaf, site: Site) -> Ssa:
    assert operation.payload is not None
    body = f"stablehlo.constant {dense(operation.payload)}"
    return site.write(body, tensor_type(site.type), site.type)
