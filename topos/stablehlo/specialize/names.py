"""The names of a copy: the value that each stands for, and those that stand for another's."""

from __future__ import annotations

from topos.stablehlo.ir import Operation, result_names
from topos.stablehlo.specialize.values import Value

__all__ = ["Names"]


class Names:
    """What is known of the values that a walk has met, by name.

    Where both are seen no name stands for two values, so the last one that had a name is meant.
    """

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}
        self._renamed: dict[str, str] = {}

    def operands(self, operation: Operation) -> tuple[Value, ...]:
        """Returns what is known of the operands."""
        return tuple([self._values[name] for name in operation.operands])

    def retyped(self, operation: Operation, values: tuple[Value, ...]) -> Operation:
        """Returns an operation with the names and the types that its operands have now."""
        operands = operation.operands
        if self._renamed:
            operands = tuple([self._renamed.get(name, name) for name in operands])
        types = tuple([value.type for value in values])
        return operation._replace(operands=operands, operand_types=types)

    def define(self, name: str, value: Value) -> None:
        """Gives `name` to a value."""
        for each in result_names(name):
            self._values[each] = value
            self._renamed.pop(each, None)

    def rename(self, name: str, target: str, changed: bool) -> None:
        """Has `name` stand for the value of `target` from here on."""
        target = self._renamed.get(target, target)
        self.define(name, self._values[target]._replace(changed=changed))
        for each in (name, name[:-2]) if name.endswith("#0") else (name, f"{name}#0"):
            self._renamed[each] = target
            self._values[each] = self._values[name]
