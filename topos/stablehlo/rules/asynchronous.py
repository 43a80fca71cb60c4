"""Rules of the operations that start a collective or a slice and wait for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from topos.stablehlo.ir import OtherType, Type
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.rules.control import shown

__all__ = ["RULES"]

_STARTED: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        "all_gather",
        "all_reduce",
        "all_to_all",
        "collective_broadcast",
        "collective_permute",
        "collective_reduce",
        "dynamic_slice",
        "dynamic_update_slice",
        "reduce_scatter",
        "slice",
    )
)


def _start(claim: OpView) -> None:
    regions = claim.operation.regions
    if len(regions) != 1 or len(regions[0].blocks) != 1:
        claim.refuse(f"needs 1 region, got {len(regions)}")
    operations = regions[0].blocks[0].operations
    if len(operations) != 2:
        claim.refuse(f"needs a region of one operation and a return, got {len(operations)}")
    if operations[0].name not in _STARTED:
        claim.refuse(f"needs a collective or a slice in its region, got {operations[0].name}")
    (body,) = claim.bodies
    if body.operands != claim.operands:
        takes, got = shown(claim.operands), shown(body.operands)
        claim.refuse(f"needs a region that takes {takes}, got {got}")
    _demand_one(claim, OtherType(f"!stablehlo.future<{', '.join(map(str, body.results))}>"))


def _done(claim: OpView) -> None:
    if len(claim.operands) != 1 or "future<" not in str(claim.operands[0]):
        claim.refuse(f"needs 1 future, got {shown(claim.operands)}")
    awaited = re.sub(r"^!stablehlo\.future<(.*)>$", r"\1", str(claim.operands[0]))
    if shown(claim.results) != f"({awaited})":
        claim.refuse(f"results in {awaited}, got {shown(claim.results)}")


def _demand_one(claim: OpView, inferred: Type) -> None:
    if claim.results != (inferred,):
        claim.refuse(f"results in {inferred}, got {shown(claim.results)}")


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.async_done": _done,
    "stablehlo.async_start": _start,
}
