"""Where the values of a module may come from unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView
from typing import Final

from topos.runtimes._mlir import Binding

# By the operation, the attribute that names the function that it calls.
CALLS: Final = {"func.call": "callee", "stablehlo.composite": "decomposition"}
BRANCHES: Final = frozenset({"stablehlo.case", "stablehlo.if"})
LOOP: Final = "stablehlo.while"


class Origins:
    """The values that each value of a module may come from."""

    def __init__(self, ir: Binding, operations: list[Binding]) -> None:
        self._ir = ir
        self._callers: dict[str, list[Binding]] = {}
        self._functions: dict[str, Binding] = {}
        for each in operations:
            if each.name == "func.func":
                self._functions[ir.StringAttr(each.attributes["sym_name"]).value] = each
            if each.name in CALLS:
                self._callers.setdefault(self._callee(each), []).append(each)

    def of(self, values: Iterable[Binding], through: Callable[[str], bool]) -> KeysView[Binding]:
        """Returns `values` and all that they may come from, through calls, loops and branches.

        `through` tells by its name whether another operation is followed to its operands.
        """
        found: dict[Binding, None] = {}
        left = [*values]
        while left:
            value = left.pop()
            if value not in found:
                found[value] = None
                left += self._before(value, through)
        return found.keys()

    def _before(self, value: Binding, through: Callable[[str], bool]) -> list[Binding]:
        maker = value.owner
        if isinstance(maker, self._ir.Block):
            return self._handed(maker.owner.operation, self._ir.BlockArgument(value).arg_number)
        place = self._ir.OpResult(value).result_number
        if maker.name in CALLS:
            function = self._functions.get(self._callee(maker))
            return _returned(function, place) if function is not None else []
        if maker.name == LOOP:
            return self._handed(maker, place)
        if maker.name in BRANCHES:
            return _returned(maker, place)
        return [*maker.operands] if through(maker.name) else []

    def _handed(self, owner: Binding, place: int) -> list[Binding]:
        """Returns what the argument of a block at `place` is given, in loops also by a turn."""
        if owner.name == LOOP:
            (last,) = owner.regions[1].blocks
            return [owner.operands[place], _last(last).operands[place]]
        if owner.name != "func.func":
            return []
        name = self._ir.StringAttr(owner.attributes["sym_name"]).value
        return [each.operands[place] for each in self._callers.get(name, [])]

    def _callee(self, call: Binding) -> str:
        return str(self._ir.FlatSymbolRefAttr(call.attributes[CALLS[call.name]]).value)


def _returned(owner: Binding, place: int) -> list[Binding]:
    return [_last(block).operands[place] for region in owner.regions for block in region.blocks]


def _last(block: Binding) -> Binding:
    return block.operations[len(block.operations) - 1]
