"""Indices in signed elements of 32 or 64 bits, which no runtime misreads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import operations_of, replaced, shaped

__all__ = ["plain_index", "plain_indices"]

# Where the indices of an operation begin among its operands, those of a scatter and a slice apart.
SECOND: Final = frozenset(
    {"stablehlo.dynamic_gather", "stablehlo.gather", "stablehlo.torch_index_select"}
)
FIRST_START: Final[Mapping[str, int]] = {
    "stablehlo.dynamic_slice": 1,
    "stablehlo.dynamic_update_slice": 2,
}
PLAIN: Final = frozenset({"i32", "i64"})
WIDE: Final = frozenset({"ui32", "ui64"})
LARGEST: Final = 2**63 - 1


def plain_indices(ir: Binding, module: Binding) -> None:
    """Converts every index of `module` that is unsigned or has fewer than 32 bits.

    One of 64 bits that no signed element holds becomes the largest, which lies outside as well.
    """
    for operation in operations_of(ir, module):
        for place in _places(operation):
            plain_index(ir, operation, place)


def _places(operation: Binding) -> range:
    if operation.name in SECOND:
        return range(1, 2)
    if operation.name == "stablehlo.scatter":
        return range(len(operation.results), len(operation.results) + 1)
    first = FIRST_START.get(operation.name)
    return range(0) if first is None else range(first, len(operation.operands))


def plain_index(ir: Binding, operation: Binding, place: int) -> None:
    """Converts the index that is the operand at `place`, as `plain_indices` does."""
    type = operation.operands[place].type
    element = str(type.element_type)
    if element in PLAIN or not type.has_static_shape:
        return
    signed = ir.IntegerType.get_signless(64 if element in WIDE else 32)
    result, given, lines = shaped(ir, type, signed), "i", ""
    if element == "ui64":
        given = "low"
        lines = f"""%most = stablehlo.constant dense<{LARGEST}> : {type}
        %low = stablehlo.minimum %i, %most : {type}\n"""
    lines += f"%r = stablehlo.convert %{given} : ({type}) -> {result}"
    replaced(ir, operation, place, lines, result)
