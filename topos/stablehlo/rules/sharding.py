"""Rules of Shardy's operations, which say where a value lies and not what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import text
from topos.stablehlo.dialect._shardings import fault_of, faults_of
from topos.stablehlo.ir import FunctionType, Opaque, Type
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.parser.shardings import LEADING, SHARDED, STATED
from topos.stablehlo.rules.control import shown

__all__ = ["RULES"]

_ONE: Final = ("sharding", "out_sharding")
_EACH: Final = ("in_shardings", "out_shardings")
_OPTIONAL: Final = frozenset({"sdy.data_flow_edge", "sdy.named_computation"})


def _same(claim: OpView) -> None:
    claim.takes(1)
    (operand,), (result,) = claim.operands, claim.results
    claim.demand(operand == result, f"results in {operand}, got {result}")
    leading = LEADING.get(claim.name)
    if leading is not None and not isinstance(claim.attribute(leading), Opaque):
        claim.refuse(f"needs axes as {leading}, got {claim.optional(leading)}")
    keys = ("sharding",) if claim.name in SHARDED else STATED[claim.name]
    for key in keys:
        if key in _ONE:
            _demand(claim, key, (operand,))


def _barrier(claim: OpView) -> None:
    _same(claim)
    if claim.integer("allowed_direction") not in (0, 1, 2):
        claim.refuse("needs NONE, FORWARD or BACKWARD as allowed_direction")


def _group(claim: OpView) -> None:
    got = (len(claim.operands), len(claim.results))
    claim.demand(got == (1, 0), f"needs 1 operand and has no result, got {got[0]} and {got[1]}")
    claim.integer("group_id")


def _computation(claim: OpView) -> None:
    if len(claim.bodies) != 1:
        claim.refuse(f"needs 1 region, got {len(claim.bodies)}")
    _demand(claim, "in_shardings", claim.operands)
    _demand(claim, "out_shardings", claim.results)
    (body,) = claim.bodies
    if claim.name == "sdy.named_computation":
        text(claim, "name")
        needed = FunctionType(claim.operands, claim.results)
        claim.demand(body == needed, f"needs a body of {needed}, got {body}")
        return
    claim.attribute("manual_axes")
    # Its body sees the part of each value that lies on one device.
    for what, outside, inside in (
        ("takes", claim.operands, body.operands),
        ("returns", claim.results, body.results),
    ):
        if [*map(_kind, outside)] != [*map(_kind, inside)]:
            claim.refuse(f"{what} {shown(outside)}, but its body {shown(inside)}")


def _kind(type: Type) -> tuple[str, int]:
    """Returns what a part of a value shares with the whole."""
    return getattr(type, "element", str(type)), len(getattr(type, "shape", ()))


def _demand(claim: OpView, key: str, types: tuple[Type, ...]) -> None:
    """Refuses the sharding `key` unless it is one of values of these types."""
    value = claim.optional(key)
    if value is None and claim.name in _OPTIONAL:
        return
    claim.attribute(key)
    check = faults_of(value, types, claim.meshes) if key in _EACH else ""
    fault = check or (fault_of(value, types[0], claim.meshes) if key in _ONE else "")
    if fault:
        claim.refuse(fault)


RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys((*SHARDED, *STATED), _same),
    "sdy.manual_computation": _computation,
    "sdy.named_computation": _computation,
    "sdy.propagation_barrier": _barrier,
    "sdy.sharding_group": _group,
}
