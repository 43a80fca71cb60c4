"""Operations as people give them: with plain Python values, made those of the tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from topos.errors import ArgumentError
from topos.stablehlo.given_attributes import attributes_of_the_tree
from topos.stablehlo.given_types import TYPES
from topos.stablehlo.ir import Attributes, Block, Operation, Parameter, Region
from topos.stablehlo.readable import demand_readable_type

__all__ = ["operation_of_the_tree"]

_VALUE: Final = re.compile(r"%(?:[0-9]+|[A-Za-z_$.-][\w$.-]*)(?:#[0-9]+)?", re.ASCII)
# A result may have no name.
_RESULT: Final = re.compile(rf"(?:{_VALUE.pattern})?", re.ASCII)
_BLOCK: Final = re.compile(r"\^[\w$.-]+", re.ASCII)


def operation_of_the_tree(operation: Operation, known: Operation | None = None) -> Operation:
    """Returns an operation whose attributes may be plain Python values, and its lists tuples.

    The parts that it shares with `known` are taken as they are. Raises `ArgumentError` at the first
    other one whose text would not read back as it.
    """
    if not isinstance(operation.name, str):
        raise ArgumentError(f"an operation's name is text, got {operation.name!r}")
    given = _Given(operation)
    made = {
        part: read(given)
        for part, read in _PARTS.items()
        if known is None or getattr(operation, part) is not getattr(known, part)
    }
    return operation._replace(**made)


class _Given:
    """The parts of an operation, each refused where it is no such thing."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def attributes(self) -> Attributes:
        name, attributes = self._operation.name, self._operation.attributes
        if not isinstance(attributes, Mapping):
            self._refuse("attributes", "a dictionary", attributes)
        return attributes_of_the_tree(name, attributes)

    def names(self, part: str, pattern: re.Pattern[str], example: str) -> tuple[str, ...]:
        names = self._listed(part)
        for name in names:
            if not isinstance(name, str) or not pattern.fullmatch(name):
                self._refuse(part, f"names such as {example}", name)
        return names

    def results(self) -> tuple[str, ...]:
        names = self.names("results", _RESULT, "%0")
        counts = Counter([name.partition("#")[0] for name in names if "#" in name])
        numbered = [f"{base}#{place}" for base, count in counts.items() for place in range(count)]
        if 1 in counts.values() or numbered != [name for name in names if "#" in name]:
            self._refuse("results", "names that count from %0#0 on, two or more", names)
        return names

    def types(self, part: str) -> tuple[Any, ...] | None:
        if part == "operand_types" and self._operation.operand_types is None:
            return None
        types = self._listed(part)
        for type in types:
            if not isinstance(type, TYPES):
                self._refuse(part, "types such as Tensor((2,), 'f32')", type)
            demand_readable_type(type)
        return types

    def regions(self) -> tuple[Region, ...]:
        return tuple([self._region(each) for each in self._listed("regions")])

    def number(self, part: str) -> int:
        value = getattr(self._operation, part)
        if type(value) is not int:
            self._refuse(part, "a number", value)
        return value

    def _region(self, region: Any) -> Region:
        blocks = getattr(region, "blocks", None)
        if not isinstance(region, Region) or not _are(blocks, Block):
            self._refuse("regions", "regions of blocks", region)
        made: list[Block] = []
        for block in region.blocks:
            if not _are(block.arguments, Parameter) or not _are(block.operations, Operation):
                self._refuse("regions", "blocks of operations", block)
            operations = tuple([operation_of_the_tree(each) for each in block.operations])
            made.append(block._replace(arguments=tuple(block.arguments), operations=operations))
        return Region(tuple(made))

    def _listed(self, part: str) -> tuple[Any, ...]:
        value = getattr(self._operation, part)
        if not isinstance(value, (list, tuple)):
            self._refuse(part, "a tuple", value)
        return tuple(value)

    def _refuse(self, part: str, needs: str, got: object) -> NoReturn:
        raise ArgumentError(f"{self._operation.name} needs {needs} as its {part}, got {got!r}")


_PARTS: Final[Mapping[str, Callable[[_Given], Any]]] = {
    "attributes": _Given.attributes,
    "results": _Given.results,
    "operands": lambda given: given.names("operands", _VALUE, "%0"),
    "successors": lambda given: given.names("successors", _BLOCK, "^bb1"),
    "operand_types": lambda given: given.types("operand_types"),
    "result_types": lambda given: given.types("result_types"),
    "regions": _Given.regions,
    "line": lambda given: given.number("line"),
    "column": lambda given: given.number("column"),
}


def _are(values: Any, kind: type) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(each, kind) for each in values)
