"""Orders: comparators that compare keys, and the keys as integers that numpy can sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from topos.runtimes.interpreter.dataflow import alike, producer, sliced
from topos.runtimes.interpreter.kernels.conversion import total_ranks
from topos.runtimes.interpreter.program import Array, Program
from topos.stablehlo.dialect import bits, comparison

_STRICT: Final = {"LT": False, "GT": True}
_TOTAL: Final = "TOTALORDER"
_PACKED_BITS: Final = 32


class Key(NamedTuple):
    """One value by which a comparator orders; of equal ones, the next key decides.

    `program` computes it from the comparator's arguments, of which it reads the left ones, and
    `slot` is where. `total` tells of IEEE 754's totalOrder.
    """

    slot: int
    program: Program
    descending: bool
    total: bool

    def ranks(self, arguments: Sequence[Array], captures: Sequence[Array]) -> list[Array]:
        """Returns integers that ascend as the keys of `arguments` do by the comparator.

        Of complex numbers those of the real parts, then those of the imaginary ones.
        """
        doubled = [array for array in arguments for _ in range(2)]
        (key,) = self.program.run(*doubled, *captures)
        key = np.broadcast_to(key, arguments[0].shape)
        parts = [key.real, key.imag] if key.dtype.kind == "c" else [key]
        return [ranked(part, total=self.total, descending=self.descending) for part in parts]


def order_of(body: Program, count: int) -> tuple[Key, ...]:
    """Returns the keys, first the decisive one, by which `body` compares `count` values.

    Empty where the comparator is none of these: `f(left) < f(right)`, or `>`, for any elementwise
    `f`, and chains of them such as `f < f or (f = f and g < g)`.
    """
    if not body.elementwise or len(body.outputs) != 1:
        return ()
    return _Comparator(body, count).keys(body.outputs[0])


class _Comparator:
    """A body whose arguments are the left and the right one of each of `count` values in turn."""

    def __init__(self, body: Program, count: int) -> None:
        self._body = body
        self._count = count

    def keys(self, slot: int) -> tuple[Key, ...]:
        found = producer(self._body, slot)
        if found is None:
            return ()
        op, inputs = found
        match op:
            case comparison.Compare():
                key = self._key(op, inputs)
                return () if key is None else (key,)
            case bits.Or():
                return self._either(*inputs) or self._either(*inputs[::-1])
            case comparison.Select():
                mask, on_true, on_false = inputs
                return self._chain(on_false, (mask, "EQ"), on_true) or self._chain(
                    on_true, (mask, "NE"), on_false
                )
        return ()

    def _key(self, op: comparison.Compare, inputs: tuple[int, ...]) -> Key | None:
        direction = op.comparison_direction
        slot, flipped = self._side(inputs)
        if direction not in _STRICT or slot is None:
            return None
        descending = _STRICT[direction] != flipped
        return Key(slot, sliced(self._body, slot), descending, op.compare_type == _TOTAL)

    def _side(self, inputs: tuple[int, ...]) -> tuple[int | None, bool]:
        """Returns which of two alike inputs is of the left arguments, and whether it is second."""
        for slot, other in (inputs, inputs[::-1]):
            if alike(self._body, slot, other, self._paired):
                return slot, slot != inputs[0]
        return None, False

    def _paired(self, left: int, right: int) -> bool:
        if left >= 2 * self._count:
            return left == right
        return left % 2 == 0 and right == left + 1

    def _either(self, lead: int, rest: int) -> tuple[Key, ...]:
        """Returns the keys of `lead or (equal and rest)`."""
        found = producer(self._body, rest)
        if found is None or not isinstance(found[0], bits.And):
            return ()
        first, second = found[1]
        return self._chain(lead, (first, "EQ"), second) or self._chain(lead, (second, "EQ"), first)

    def _chain(self, lead: int, equal: tuple[int, str], rest: int) -> tuple[Key, ...]:
        """Returns the keys where `equal`, a slot and a direction, compares the key of `lead`."""
        mask, direction = equal
        found = producer(self._body, mask)
        if found is None or not isinstance(found[0], comparison.Compare):
            return ()
        op, inputs = found[0], found[1]
        keys = self.keys(lead)
        slot, _ = self._side(inputs)
        if (
            len(keys) != 1
            or slot is None
            or op.comparison_direction != direction
            or (op.compare_type == _TOTAL) != keys[0].total
            or not alike(self._body, keys[0].slot, slot, lambda one, two: one == two)
        ):
            return ()
        others = self.keys(rest)
        return (*keys, *others) if others else ()


def ranked(key: Array, *, total: bool, descending: bool) -> Array:
    """Returns signed integers that ascend as `key` does, or as it descends.

    By totalOrder every pattern of bits has its own place. Otherwise zeros of either sign are one,
    and NaN, which compares with nothing, comes last.
    """
    if key.dtype.kind in "biu" or "int" in key.dtype.name:
        ranks = _ranked_integers(key)
        return ~ranks if descending else ranks
    if total:
        ranks = total_ranks(np.ascontiguousarray(key))
        return ~ranks if descending else ranks
    wide = key if key.dtype.kind == "f" else key.astype(np.float32)
    # Adding +0 turns -0 into +0.
    ranks = total_ranks(np.ascontiguousarray(wide + wide.dtype.type(0)))
    ranks = ~ranks if descending else ranks
    return np.where(np.isnan(wide), np.iinfo(ranks.dtype).max, ranks)


def _ranked_integers(key: Array) -> Array:
    if key.dtype.kind == "u":
        # Without its top bit the upper half comes first, as a signed number.
        flipped = key ^ key.dtype.type(1 << (8 * key.itemsize - 1))
        return np.asarray(flipped.view(f"i{key.itemsize}"))
    return key if key.dtype.kind == "i" else key.astype(np.int8)


def stable_order(ranks: Sequence[Array], axis: int) -> Array:
    """Returns the places along `axis` in ascending order of `ranks`, the first one decisive."""
    if len(ranks) > 1:
        return np.lexsort(tuple(reversed(ranks)), axis=axis)
    (rank,) = ranks
    if 8 * rank.itemsize > _PACKED_BITS:
        return np.argsort(rank, axis=axis, kind="stable")
    # A rank and its place in one number sort twice as fast as ranks that take places along.
    places = np.arange(rank.shape[axis]).reshape(-1, *(1,) * (rank.ndim - axis - 1))
    packed = (rank.astype(np.int64) << _PACKED_BITS) | places
    packed.sort(axis=axis)
    return packed & ((1 << _PACKED_BITS) - 1)
