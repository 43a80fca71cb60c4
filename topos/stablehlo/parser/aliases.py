"""Aliases: attributes and types that a text names once and uses by that name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from topos.errors import UnsupportedError
from topos.stablehlo.attribute_text import spelled
from topos.stablehlo.ir import (
    Block,
    Crossed,
    Dense,
    Function,
    FunctionType,
    Opaque,
    Operation,
    OtherType,
    Parameter,
    Record,
    Region,
    Tensor,
    TupleType,
    Typed,
    Unranked,
)
from topos.stablehlo.resources import Resources

# No honest text spells this many values by an alias of aliases.
_LARGEST: Final = 1_000_000
# A name among the text of a part, or a string, in which there is none.
_NAME: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[#!][A-Za-z_]\w*(?![\w$.<])')


class Alias(NamedTuple):
    """A definition; `name` keeps its `#` or `!`."""

    name: str
    value: Any
    line: int
    column: int


class Names(NamedTuple):
    """What the names of a text stand for: its aliases, resolved, and its resources."""

    aliases: Mapping[str, Any]
    resources: Resources

    def resolved(self, part: Any) -> Any:
        """Returns a part of the tree with every name replaced by what it stands for."""
        match part:
            case Opaque(text) | OtherType(text):
                whole = self.aliases.get(text)
                return type(part)(self._within(text)) if whole is None else whole
            case Tensor():
                element, encoding = self._within(part.element), self._within(part.encoding)
                return part._replace(element=element, encoding=encoding)
            case Unranked():
                return Unranked(self._within(part.element))
            case Dense():
                body = self.resources.body(part)
                return Dense(body, self.resolved(part.type), part.line, part.column)
            case Region():
                return self._region(part)
            case Operation():
                return self._operation(part)
            case Function() | Parameter():
                return type(part)(*[self.resolved(field) for field in part])
            case TupleType():
                return TupleType(tuple(map(self.resolved, part.parts)))
            case FunctionType() | Typed():
                return type(part)(*[self.resolved(field) for field in part])
            case Record():
                return Record(self._each(part), part.opening)
            case dict():
                return self._each(part)
            case Crossed():
                return Crossed(self.resolved(value) for value in part)
            case tuple() if type(part) is tuple:
                return tuple([self.resolved(value) for value in part])
            case _:
                return part

    def _within(self, text: str) -> str:
        """Returns the text of a part that is kept as it is written, without the names in it."""
        if "#" not in text and "!" not in text:
            return text
        return _NAME.sub(self._spelled, text)

    def _spelled(self, match: re.Match[str]) -> str:
        value = self.aliases.get(match[0])
        return match[0] if value is None else spelled(value)

    def _region(self, region: Region) -> Region:
        # Regions nest deep, so this costs few calls inside one another.
        blocks: list[Block] = []
        for arguments, operations, label in region.blocks:
            stated = tuple(map(self.resolved, arguments))
            blocks.append(Block(stated, tuple(map(self._operation, operations)), label))
        return Region(tuple(blocks))

    def _operation(self, operation: Operation) -> Operation:
        types = operation.operand_types
        return operation._replace(
            attributes=self._each(operation.attributes),
            regions=tuple(map(self._region, operation.regions)),
            operand_types=None if types is None else tuple(map(self.resolved, types)),
            result_types=tuple(map(self.resolved, operation.result_types)),
        )

    def _each(self, part: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self.resolved(value) for key, value in part.items()}


def names_of(definitions: Iterable[Alias], resources: Resources) -> Names:
    """Returns the names of a text; a definition may use those before it.

    Raises `UnsupportedError` where one stands for more than a million values.
    """
    aliases: dict[str, Any] = {}
    names = Names(aliases, resources)
    sizes: dict[str, int] = {}
    for alias in definitions:
        sizes[alias.name] = _size(alias.value, sizes)
        if sizes[alias.name] > _LARGEST:
            reason = f"{alias.name} stands for more than {_LARGEST} values"
            raise UnsupportedError(reason, alias.line, alias.column)
        aliases[alias.name] = names.resolved(alias.value)
    return names


def _size(value: Any, sizes: Mapping[str, int]) -> int:
    match value:
        case Opaque(text) | OtherType(text):
            return _size(text, sizes)
        case str():
            return max(1, sum(sizes.get(name, 0) for name in _NAME.findall(value)))
        case dict():
            return 1 + sum(_size(part, sizes) for part in value.values())
        case tuple():
            return 1 + sum(_size(part, sizes) for part in value)
        case _:
            return 1
