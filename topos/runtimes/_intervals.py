"""What integers a value of a module may hold, where its text says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from topos.runtimes._mlir import DTYPES, Binding

# Operations whose results are elements of their first operand.
PLACEMENTS: Final = frozenset(
    f"stablehlo.{name}" for name in ("broadcast_in_dim", "reshape", "reverse", "slice", "transpose")
)
# No text of anyone's derives an index by more steps, and Python bears no endless recursion.
DEEPEST: Final = 64


class Interval(NamedTuple):
    """The smallest and the largest integer, both inside."""

    low: int
    high: int

    def within(self, other: Interval) -> bool:
        """Returns whether `other` has every integer of this one."""
        return other.low <= self.low and self.high <= other.high

    def joined(self, other: Interval) -> Interval:
        """Returns the smallest interval that has both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))


class Intervals:
    """The intervals of a module's values, each worked out once."""

    def __init__(self, ir: Binding) -> None:
        self._ir = ir
        self._known: dict[Binding, Interval | None] = {}

    def of(self, value: Binding, depth: int = 0) -> Interval | None:
        """Returns what `value` lies in, or None where nothing bounds it."""
        if value not in self._known:
            self._known[value] = self._found(value, depth) if depth < DEEPEST else None
        return self._known[value]

    def along(self, value: Binding, axis: int, place: int) -> Interval | None:
        """Returns what the elements of `value` at `place` along `axis` lie in, as `of` does."""
        maker = value.owner
        if axis == value.type.rank or isinstance(maker, self._ir.Block):
            return self.of(value)
        if maker.name == "stablehlo.concatenate" and int(maker.attributes["dimension"]) == axis:
            parts = [*maker.operands]
            while place >= parts[0].type.shape[axis]:
                place -= parts.pop(0).type.shape[axis]
            return self.along(parts[0], axis, place)
        if maker.name == "stablehlo.constant":
            return self._constant(maker, axis, place)
        return self.of(value)

    def _found(self, value: Binding, depth: int) -> Interval | None:
        maker = value.owner
        if isinstance(maker, self._ir.Block):
            return None
        if maker.name == "stablehlo.constant":
            return self._constant(maker)
        if maker.name in PLACEMENTS:
            return self.of(maker.operands[0], depth + 1)
        rule = RULES.get(maker.name)
        if rule is None:
            return None
        found = [self.of(each, depth + 1) for each in maker.operands]
        answer = rule(maker, found)
        # Whatever leaves its type wraps around in it.
        holds = held(value.type)
        return answer if answer and holds and answer.within(holds) else None

    def _constant(self, maker: Binding, axis: int = 0, place: int | None = None) -> Interval | None:
        elements = maker.attributes["value"]
        if not isinstance(elements, self._ir.DenseIntElementsAttr):
            return None
        if str(elements.type.element_type) not in DTYPES:
            return None
        array = np.array(elements)
        if place is not None:
            array = array.take(place, axis)
        return Interval(int(array.min()), int(array.max())) if array.size else Interval(0, 0)


def held(type: Binding) -> Interval | None:
    """Returns what the integer elements of a tensor type can hold, or None for other elements."""
    dtype = DTYPES.get(str(type.element_type))
    if dtype is None or dtype.kind not in "iu":
        return None
    limits = np.iinfo(dtype)
    return Interval(int(limits.min), int(limits.max))


def _clamp(maker: Binding, found: list[Interval | None]) -> Interval | None:
    low, _, high = found
    # The upper bound wins where the two cross.
    return Interval(min(low.low, high.low), high.high) if low and high else None


def _convert(maker: Binding, found: list[Interval | None]) -> Interval | None:
    return found[0]


def _select(maker: Binding, found: list[Interval | None]) -> Interval | None:
    return _union(maker, found[1:])


def _union(maker: Binding, found: list[Interval | None]) -> Interval | None:
    first, *rest = found
    for each in rest:
        first = first.joined(each) if first and each else None
    return first


def _iota(maker: Binding, found: list[Interval | None]) -> Interval | None:
    axis, type = int(maker.attributes["iota_dimension"]), maker.results[0].type
    return Interval(0, max(type.shape[axis] - 1, 0)) if type.has_static_shape else None


Rule = Callable[[Any, list[Interval | None]], Interval | None]

RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.clamp": _clamp,
    "stablehlo.concatenate": _union,
    "stablehlo.convert": _convert,
    "stablehlo.iota": _iota,
    "stablehlo.select": _select,
}
