"""Orders on IREE: sorts that keep ties, and the first elements of an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import tensor
from topos.runtimes.iree.keys import KEYS, Keys

__all__ = ["Order", "keep_ties", "top_k"]

# Elements with more integers than an f64 holds.
WIDE: Final = frozenset({"f64", "i64", "ui64"})
# On a top_k whose elements are such integers already.
MARK: Final = "topos.keys"


class Order(NamedTuple):
    """The first `taken` elements of a tensor along its last axis, the largest or the smallest."""

    shape: tuple[int, ...]
    element: str
    taken: int
    largest: bool

    def text(self) -> str:
        """Returns text for the chosen elements %v of %x and their places %i.

        Of equal elements the first in place comes first. Elements of up to 32 bits are chosen by
        IREE's own top_k as integers in f64, for it passes over NaN and keeps ties of floats alone.
        Others are sorted, which takes longer.
        """
        kept = (*self.shape[:-1], self.taken)
        before, after = Keys(self.shape, self.element), Keys(kept, self.element)
        keyed = before.keyed("x", "keys", self.largest)
        chosen = self._sorted(kept) if self.element in WIDE else self._own(kept)
        return keyed + chosen + after.restored("first", "v", self.largest)

    def _own(self, kept: Sequence[int]) -> str:
        key, wide, cut = KEYS[self.element], tensor(self.shape, "f64"), tensor(kept, "f64")
        return f"""
      %float = stablehlo.convert %keys : ({tensor(self.shape, key)}) -> {wide}
      %best, %i = chlo.top_k(%float, k = {self.taken}) {{{MARK}}}
        : {wide} -> ({cut}, {tensor(kept, "i32")})
      %first = stablehlo.convert %best : ({cut}) -> {tensor(kept, key)}"""

    def _sorted(self, kept: Sequence[int]) -> str:
        key, axis = KEYS[self.element], len(self.shape) - 1
        whole, places = tensor(self.shape, key), tensor(self.shape, "i32")
        cut = ", ".join(f"0:{extent}" for extent in kept)
        return f"""
      %all = stablehlo.iota dim = {axis} : {places}
      %s:2 = "stablehlo.sort"(%keys, %all) <{{dimension = {axis} : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<{key}>, %b: tensor<{key}>, %c: tensor<i32>, %d: tensor<i32>):
        %t = stablehlo.compare GT, %a, %b : (tensor<{key}>, tensor<{key}>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      }}) : ({whole}, {places}) -> ({whole}, {places})
      %first = stablehlo.slice %s#0 [{cut}] : ({whole}) -> {tensor(kept, key)}
      %i = stablehlo.slice %s#1 [{cut}] : ({places}) -> {tensor(kept, "i32")}"""


def keep_ties(ir: Binding, operation: Binding) -> None:
    """Makes a sort stable.

    IREE exchanges two neighbours unless the first comes before the second, so also where neither
    does. Asked whether the second does not come before the first, it leaves these as they are.
    Where the first of sorted values and places are sliced off, IREE sees a top_k, without its ties:
    a barrier hides the results from that.
    """
    block, location = operation.regions[0].blocks[0], operation.location
    pairs = [*block.arguments]
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        third = block.add_argument(first.type, location)
        first.replace_all_uses_with(third)
        second.replace_all_uses_with(first)
        third.replace_all_uses_with(second)
        block.erase_argument(len(pairs))
    last = block.operations[len(block.operations) - 1].operation
    (truth,) = last.operands
    create, place = ir.Operation.create, ir.InsertionPoint
    last.operands[0] = create(
        "stablehlo.not", [truth.type], [truth], loc=location, ip=place(last)
    ).result
    for result in operation.results:
        hidden = create(
            "stablehlo.optimization_barrier",
            [result.type],
            [result],
            loc=location,
            ip=place.after(operation),
        )
        result.replace_all_uses_except(hidden.result, hidden)


def top_k(ir: Binding, operation: Binding) -> str | None:
    """Returns the function for a top_k."""
    if MARK in operation.attributes:
        return None
    type = operation.operands[0].type
    element = str(type.element_type)
    if element not in KEYS:
        raise UnsupportedError(f"iree takes no top_k of elements {element}")
    count = int(ir.IntegerAttr(operation.attributes["k"]))
    values, places = (each.type for each in operation.results)
    return f"""
    func.func private @f(%x: {type}) -> ({values}, {places}) {{
      {Order(tuple(type.shape), element, count, largest=True).text()}
      return %v, %i : {values}, {places}
    }}"""
