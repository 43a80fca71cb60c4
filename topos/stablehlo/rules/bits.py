"""Rules of the operations on the bits of elements: reinterpretation and reduced precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import natural
from topos.stablehlo.elements import ANY, COMPLEX, FLOATS, demand_element
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.rules.elementwise import alike
from topos.stablehlo.shapes import ranked, shapes_agree
from topos.stablehlo.types import ELEMENTS

__all__ = ["RULES"]

# The elements that numpy holds in whole bytes although they have fewer bits.
_NARROW: Final[Mapping[str, int]] = {
    "i1": 1,
    "i2": 2,
    "ui2": 2,
    "i4": 4,
    "ui4": 4,
    "f4E2M1FN": 4,
    "f6E2M3FN": 6,
    "f6E3M2FN": 6,
}
_BITS: Final[Mapping[str, int]] = {
    name: _NARROW.get(name, 8 * dtype.itemsize) for name, dtype in ELEMENTS.items()
}


def _bitcast(claim: OpView) -> None:
    claim.takes(1)
    operand = ranked(claim, claim.operands[0], "operand")
    result = ranked(claim, claim.results[0], "result")
    demand_element(claim, operand, ANY)
    demand_element(claim, result, ANY)
    if (operand.element in COMPLEX) != (result.element in COMPLEX):
        claim.refuse(f"cannot turn {operand} into {result}: only one of them is complex")
    widths = (_BITS[operand.element], _BITS[result.element])
    narrow, wide = (operand, result) if widths[0] < widths[1] else (result, operand)
    if widths[0] == widths[1]:
        fits = shapes_agree(operand.shape, result.shape)
    else:
        fits = _split(narrow, wide, max(widths) / min(widths))
    if not fits:
        claim.refuse(f"cannot turn {operand} into {result}")


def _split(narrow: Tensor, wide: Tensor, parts: float) -> bool:
    """Returns whether the last axis of `narrow` holds the parts of the elements of `wide`."""
    if len(narrow.shape) != len(wide.shape) + 1:
        return False
    return narrow.shape[-1] in (None, parts) and shapes_agree(narrow.shape[:-1], wide.shape)


_FLOATS_ALIKE: Final = alike(1, FLOATS)


def _reduce_precision(claim: OpView) -> None:
    _FLOATS_ALIKE(claim)
    exponent = natural(claim, "exponent_bits", "i32")
    natural(claim, "mantissa_bits", "i32")
    if exponent < 1:
        claim.refuse(f"needs exponent_bits of 1 or more, got {exponent}")


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.reduce_precision": _reduce_precision,
}
