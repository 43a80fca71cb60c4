"""Rules of the operations that move data in and out of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import demand_channel, text
from topos.stablehlo.elements import ANY, demand_element
from topos.stablehlo.ir import Type
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import demand_result, ranked
from topos.stablehlo.types import TOKEN

__all__ = ["RULES"]


def _demand_ordered(claim: OpView, types: tuple[Type, ...], what: str) -> None:
    """Refuses unless `types` are tensors, then one token."""
    if not types or types[-1] != TOKEN:
        got = types[-1] if types else "nothing"
        claim.refuse(f"needs a token as its last {what}, got {got}")
    for type in types[:-1]:
        demand_element(claim, ranked(claim, type, what), ANY)


def _received(claim: OpView) -> None:
    if claim.operands != (TOKEN,):
        claim.refuse(f"needs a token as its operand, got {len(claim.operands)} operands")
    _demand_ordered(claim, claim.results, "result")
    for type in claim.results[:-1]:
        if None in ranked(claim, type, "result").shape:
            claim.refuse(f"needs a static result, got {type}")


def _sent(claim: OpView) -> None:
    claim.takes(len(claim.operands))
    _demand_ordered(claim, claim.operands, "operand")
    demand_result(claim, TOKEN)


def _infeed(claim: OpView) -> None:
    _received(claim)
    text(claim, "infeed_config", "")
    layout = claim.optional("layout")
    if layout is None:
        return
    if not isinstance(layout, tuple) or len(layout) != len(claim.results) - 1:
        claim.refuse(f"needs a layout of {len(claim.results) - 1} parts, got {layout}")
    for part in layout:
        if not isinstance(part, tuple) or any(type(number) is not int for number in part):
            claim.refuse(f"needs lists of integers as layout, got {part}")


def _outfeed(claim: OpView) -> None:
    _sent(claim)
    text(claim, "outfeed_config", "")


def _send(claim: OpView) -> None:
    _sent(claim)
    demand_channel(claim, "DEVICE_TO_HOST")


def _recv(claim: OpView) -> None:
    _received(claim)
    demand_channel(claim, "HOST_TO_DEVICE")


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.infeed": _infeed,
    "stablehlo.outfeed": _outfeed,
    "stablehlo.recv": _recv,
    "stablehlo.send": _send,
}
