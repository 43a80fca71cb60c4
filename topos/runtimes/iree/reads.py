"""What is still read of a value after an operation that IREE computes in its memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import operations_of

# Operations whose result is never the memory of an operand, whatever IREE folds.
FRESH: Final = frozenset(
    f"stablehlo.{name}"
    for name in ("convolution", "dot", "dot_general", "gather", "reduce", "reduce_window")
)
# What becomes a jump in IREE, whose results are arguments of the block after it.
JUMPS: Final = frozenset({"stablehlo.case", "stablehlo.if", "stablehlo.while"})
FUNCTION: Final = "func.func"


class Reads:
    """The reads of a module after `writer`, an operation in it.

    A value of `copies` lies in memory of its own, and an argument of `main`, a block.
    """

    def __init__(self, ir: Binding, writer: Binding, copies: set[Binding], main: Binding) -> None:
        self._ir = ir
        self._copies = copies
        self._main = main
        self._writer = writer.operation
        self._around = {each.block: each for each in _holders(self._writer)}

    def sources(self, place: int) -> set[Binding] | None:
        """Returns the values in whose memory an operand may lie, if a jump brings one of them.

        Of other values IREE itself knows when they are read.
        """
        found: set[Binding] = set()
        left = [self._writer.operands[place]]
        while left:
            value = left.pop()
            if value in found:
                continue
            found.add(value)
            maker = value.owner
            if value in self._copies or isinstance(maker, self._ir.Block) or maker.name in FRESH:
                continue
            inner = operations_of(self._ir, maker) if maker.name in JUMPS else [maker]
            left += [each for one in inner for each in one.operands if _holds(each, value)]
        return found if any(map(self._jumped, found)) else None

    def again(self, value: Binding, place: int) -> bool:
        """Returns whether `value` is read after the writer, by a turn of a loop, or by it twice."""
        if self._turns(value):
            return True
        return any(self._later(use, place) for use in value.uses)

    def views(self, sources: set[Binding], place: int) -> list[Binding]:
        """Returns what may be a view of `sources` from before the writer, and is read after it."""
        seen, left = set(sources), [*sources]
        while left:
            value = left.pop()
            for use in value.uses:
                for holder in _holders(use.owner.operation):
                    if holder == self._writer:
                        break
                    if holder.name not in FRESH:
                        new = {each for each in holder.results if _holds(value, each)}
                        new -= seen | self._copies
                        seen |= new
                        left += new
                    if holder.block in self._around:
                        break
        return [each for each in seen - sources if self.again(each, place)]

    def _jumped(self, value: Binding) -> bool:
        if value in self._copies:
            return False
        maker = value.owner
        if isinstance(maker, self._ir.Block):
            return bool(maker != self._main)
        return maker.name in JUMPS or self._turns(value)

    def _turns(self, value: Binding) -> bool:
        """Returns whether the writer is in a loop, and `value` outside it."""
        maker = value.owner
        block = maker if isinstance(maker, self._ir.Block) else maker.operation.block
        for each in _holders(self._writer):
            if each.block == block:
                return False
            if each.parent.name == "stablehlo.while":
                return True
        return False

    def _later(self, use: Binding, place: int) -> bool:
        user = use.owner.operation
        if user == self._writer:
            return bool(use.operand_number != place and use.operand_number < len(user.results))
        for each in _holders(user):
            if each.block in self._around:
                # Another region of one operation is another branch.
                return bool(self._around[each.block].is_before_in_block(each))
        return False


def _holders(operation: Binding) -> Iterator[Binding]:
    """Gives an operation and those around it, but the function."""
    while operation.name != FUNCTION:
        yield operation
        operation = operation.parent.operation


def _holds(value: Binding, part: Binding) -> bool:
    """Returns whether the memory of `value` is large enough for `part`."""
    if not (value.type.has_static_shape and part.type.has_static_shape):
        return True
    if value.type.element_type != part.type.element_type:
        return True
    return bool(prod(value.type.shape) >= prod(part.type.shape))
