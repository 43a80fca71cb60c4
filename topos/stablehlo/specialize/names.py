"""The names of a copy: the value that each name of the text stands for, and its name here."""

from __future__ import annotations

from topos.stablehlo.fresh_names import FreshNames, names_in
from topos.stablehlo.ir import Operation, Region, result_names
from topos.stablehlo.specialize.values import Value

__all__ = ["Names"]


class Names:
    """What is known of the values that a walk has met, by their names in the text.

    Where both are seen no name stands for two values, so the last one that had a name is meant.
    While `inlined`, what is defined stands outside the region that the text has it in, and so it
    gets a name that nothing else in the function has.
    """

    def __init__(self, body: Region) -> None:
        self._values: dict[str, Value] = {}
        self._renamed: dict[str, str] = {}
        self.fresh = FreshNames(names_in(body))
        self.inlined = False

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

    def define(self, name: str, value: Value, called: str = "") -> None:
        """Gives `name` to a value, which the copy has by the same name unless it is `called`."""
        for each in result_names(name):
            self._values[each] = value
            self._renamed.pop(each, None)
            if called not in ("", name):
                self._renamed[each] = called

    def defined(
        self, operation: Operation, values: tuple[Value, ...], is_new: bool = False
    ) -> Operation:
        """Returns an operation with the names and types of its results, defined from here on.

        One that `is_new` in the text of the function has fresh names.
        """
        called = operation.results
        if self.inlined or is_new:
            called = self.fresh.results(called)
        for name, value, other in zip(operation.results, values, called, strict=True):
            self.define(name, value, other)
        types = tuple([value.type for value in values])
        return operation._replace(results=called, result_types=types)

    def rename(self, name: str, target: str, stated: bool) -> None:
        """Has `name` stand for the value of `target` from here on; its type may be as `stated`."""
        value = self._values[target]._replace(changed=not stated)
        self.define(name, value, self._renamed.get(target, target))
