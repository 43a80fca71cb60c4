"""Rules of the values that come from no operand: constants, ramps and the numbers of a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dense import decoded
from topos.stablehlo.dialect._attributes import natural
from topos.stablehlo.elements import (
    ANY,
    COMPLEX,
    FLOATS,
    INTEGERS,
    demand_element,
)
from topos.stablehlo.ir import Dense, Tensor, Typed
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.resources import absent
from topos.stablehlo.shapes import demand_result, ranked

__all__ = ["RULES"]


def _constant(claim: OpView) -> None:
    claim.takes(0)
    value = claim.attribute("value")
    result = ranked(claim, claim.results[0], "result")
    if not isinstance(value, Dense) or not isinstance(value.type, Tensor):
        claim.refuse(f"needs a dense value, got {value}")
    for type in (value.type, result):
        if None in type.shape:
            claim.refuse(f"needs a static shape, got {type}")
    demand_element(claim, result, ANY)
    demand_result(claim, value.type)
    # The body is read here and kept, so that one which does not fit its type is refused.
    if not absent(value):
        decoded(value)


def _foreign_constant(claim: OpView) -> None:
    """Checks the types alone: the value may be no tensor, or one of elements that none here has."""
    claim.takes(0)
    value = claim.operation.attributes.get("value")
    if isinstance(value, Dense | Typed) and value.type != claim.results[0]:
        claim.refuse(f"results in {value.type}, got {claim.results[0]}")


def _iota(claim: OpView) -> None:
    claim.takes(0)
    result = ranked(claim, claim.results[0], "result")
    if None in result.shape:
        claim.refuse(f"needs a static shape, got {result}")
    demand_element(claim, result, INTEGERS | FLOATS | COMPLEX)
    axis = natural(claim, "iota_dimension")
    claim.axes("dimension", (axis,), len(result.shape))


def _number(claim: OpView) -> None:
    claim.takes(0)
    demand_result(claim, Tensor((), "ui32"))


RULES: Final[Mapping[str, Rule]] = {
    "sdy.constant": _constant,
    "stablehlo.constant": _constant,
    "arith.constant": _foreign_constant,
    "stablehlo.iota": _iota,
    "stablehlo.partition_id": _number,
    "stablehlo.replica_id": _number,
}
