"""Rules of the operations whose shapes come from operands, and of those that read or set them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from topos.stablehlo.dialect._attributes import axis, integers, natural
from topos.stablehlo.dialect._sizes import demand_shape, known, static_sizes
from topos.stablehlo.elements import (
    ANY,
    COMPLEX,
    FLOATS,
    INTEGERS,
    demand_element,
)
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    bounds_of,
    demand_result,
    extents_agree,
    of_bounds,
    ranked,
    scalar,
    size_of,
)

__all__ = ["RULES"]

_HINTS: Final = ("known_expanding_dimensions", "known_nonexpanding_dimensions")
_PADDINGS: Final = ((2, "low padding"), (3, "high padding"), (4, "interior padding"))


def _pair(claim: OpView, count: int) -> tuple[Tensor, Tensor]:
    """Returns the operand and the result, which have one element."""
    claim.takes(count)
    operand = ranked(claim, claim.operands[0], "operand")
    result = ranked(claim, claim.results[0], "result")
    demand_element(claim, operand, ANY)
    if operand.element != result.element:
        claim.refuse(f"needs a result of {operand.element}, got {result}")
    return operand, result


def _broadcast(claim: OpView) -> None:
    operand, result = _pair(claim, 2)
    axes = integers(claim, "broadcast_dimensions", len(operand.shape))
    claim.axes("broadcast_dimensions", axes, len(result.shape))
    demand_shape(claim, 1, result, "output_dimensions")
    values = known(claim, 1)
    for extent, along in zip(operand.shape, axes, strict=True):
        stated = (result.shape[along], None if values is None else values[along])
        if extent != 1 and not all(extents_agree(extent, other) for other in stated):
            claim.refuse(f"cannot broadcast {operand} along {list(axes)} to {result}")
    hints = [along for key in _HINTS for along in claim.integers(key, ())]
    claim.axes("known dimensions", tuple(hints), len(operand.shape))


def _reshape(claim: OpView) -> None:
    operand, result = _pair(claim, 2)
    demand_shape(claim, 1, result, "output_shape")
    values = known(claim, 1)
    counts = {size_of(operand.shape), size_of(result.shape), values and prod(values)} - {None}
    if len(counts) > 1:
        claim.refuse(f"cannot turn {operand} into {result}")


def _iota(claim: OpView) -> None:
    claim.takes(1)
    result = ranked(claim, claim.results[0], "result")
    demand_element(claim, result, INTEGERS | FLOATS | COMPLEX)
    along = natural(claim, "iota_dimension")
    claim.axes("dimension", (along,), len(result.shape))
    demand_shape(claim, 0, result, "output_shape")


def _pad(claim: OpView) -> None:
    operand, result = _pair(claim, 5)
    filler = scalar(claim, claim.operands[1], "filler")
    if filler.element != operand.element:
        claim.refuse(f"needs a filler of {operand.element}, got {filler}")
    rank = len(operand.shape)
    for index, what in _PADDINGS:
        count = static_sizes(claim, index, what)
        if count != rank:
            claim.refuse(f"needs {rank} numbers as {what}, got {count}")
        if claim.operands[index] != claim.operands[2]:
            claim.refuse(f"needs {what} as {claim.operands[2]}, got {claim.operands[index]}")
    if len(result.shape) != rank:
        claim.refuse(f"needs a result of rank {rank}, got {result}")
    _demand_padded(claim, operand, result)


def _demand_padded(claim: OpView, operand: Tensor, result: Tensor) -> None:
    low, high, interior = (known(claim, index) for index, _ in _PADDINGS)
    if interior is not None and any(count < 0 for count in interior):
        claim.refuse(f"needs interior padding of 0 or more, got {list(interior)}")
    if low is None or high is None or interior is None:
        return
    shape = tuple(
        None if extent is None else before + extent + max(extent - 1, 0) * between + after
        for extent, before, after, between in zip(operand.shape, low, high, interior, strict=True)
    )
    demand_result(claim, result._replace(shape=shape))


def _get_dimension_size(claim: OpView) -> None:
    claim.takes(1)
    operand = ranked(claim, claim.operands[0], "operand")
    demand_element(claim, operand, ANY)
    axis(claim, "dimension", len(operand.shape))
    demand_result(claim, Tensor((), "i32"))


def _set_dimension_size(claim: OpView) -> None:
    claim.takes(2)
    operand = ranked(claim, claim.operands[0], "operand")
    demand_element(claim, operand, ANY)
    size = scalar(claim, claim.operands[1], "size")
    if size.element != "i32":
        claim.refuse(f"needs a size of i32, got {size}")
    along = axis(claim, "dimension", len(operand.shape))
    values = known(claim, 1)
    shape, bounds = list(operand.shape), list(bounds_of(operand))
    if shape[along] is not None:
        bounds[along] = shape[along]
    # A size that is the bound itself makes the dimension static again.
    shape[along] = bounds[along] if values is not None and values[0] == bounds[along] else None
    demand_result(claim, of_bounds(tuple(shape), operand.element, tuple(bounds)))


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.dynamic_broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_iota": _iota,
    "stablehlo.dynamic_pad": _pad,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.get_dimension_size": _get_dimension_size,
    "stablehlo.set_dimension_size": _set_dimension_size,
}
