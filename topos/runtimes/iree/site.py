"""An operation whose indices must stay inside, with what its attributes and its text say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from topos.errors import UnsupportedError
from topos.runtimes._intervals import Interval, Intervals, held
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import along, dimension_numbers, inlined, tensor

__all__ = ["IndexSite", "require_static"]

WIDE: Final = "i64"


class IndexSite(NamedTuple):
    """An operation in its module."""

    ir: Binding
    operation: Binding
    intervals: Intervals

    def fields(self, attribute: str) -> Mapping[str, tuple[int, ...]]:
        """Returns the dimension numbers of an attribute that has no class in the bindings."""
        return dimension_numbers(self.operation.attributes[attribute])

    def stays(self, indices: Binding, highest: int) -> bool:
        """Returns whether the text itself keeps `indices` between 0 and `highest`."""
        found = self.intervals.of(indices)
        return found is not None and found.within(Interval(0, highest))

    def largest(self, indices: Binding) -> int:
        """Returns what the element of `indices` can hold at most."""
        holds = held(indices.type)
        if holds is None:
            raise UnsupportedError(f"iree takes indices of whole bytes, got {indices.type}")
        return holds.high

    def inside(
        self, indices: Binding, highest: Sequence[int], vector: int, wide: bool = False
    ) -> Binding:
        """Returns the indices clamped to `highest`, one for each place along the axis `vector`.

        Unsigned indices, and all where they are to be `wide`, become signed ones of 64 bits.
        """
        type, element = indices.type, str(indices.type.element_type)
        if not highest or 0 in type.shape:
            return indices
        given = "i"
        body = ""
        if not self.stays(indices, min(highest)):
            largest, given = self.largest(indices), "clamped"
            body = f"""
            %low = stablehlo.constant dense<0> : {type}
            {along("high", [min(each, largest) for each in highest], type, vector)}
            %clamped = stablehlo.clamp %low, %i, %high : {type}"""
        made, given = str(type), given
        if wide or element.startswith("ui"):
            made = tensor(type.shape, WIDE)
            body += f"\n%signed = stablehlo.convert %{given} : ({type}) -> {made}"
            given = "signed"
        text = f"func.func private @f(%i: {type}) -> {made} {{{body}\nreturn %{given} : {made}\n}}"
        return self.put(text, [indices])[0] if body else indices

    def put(self, text: str, operands: Sequence[Binding], after: bool = False) -> list[Binding]:
        """Returns the results of the function in `text`, its body beside the operation."""
        return inlined(self.ir, self.operation, text, operands, after).results


def require_static(operation: Binding) -> None:
    """Raises `UnsupportedError` for an operation with an operand or a result of unknown shape."""
    for value in (*operation.operands, *operation.results):
        if not value.type.has_static_shape:
            raise UnsupportedError(
                f"iree takes {operation.name} of fixed shapes alone, got {value.type}"
            )
