"""The custom assembly of an operation, from one line that its definition states.

`"$operand, dims = $permutation : functional-type"` says that the operands come first, then the
attribute `permutation` as `dims = [...]`, then after the colon the types of operands and results.
`$scale?` may be absent; a line in parentheses is written in parentheses. After the colon stands
one of the keys of `SIGNATURES`, or nothing where the definition has a `signature` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from topos.stablehlo.attribute_text import function_type, produced, referred, spelled
from topos.stablehlo.equality import same
from topos.stablehlo.ir import FunctionType, Operation, Packed, Record, Type, Word
from topos.stablehlo.typed_attributes import Attribute

__all__ = ["Assembly", "Clause", "Head", "Signature", "bare", "heading", "named"]

# Returns the text after an operation's colon.
Signature = Callable[[FunctionType], str]

_CLAUSE: Final = re.compile(r"(\w+) = \$(\w+)(\??)")


class Head(NamedTuple):
    """What follows an operation's name, and the attributes that are left for its dictionary."""

    text: str
    rest: Mapping[str, Any]


class Clause(NamedTuple):
    """A `key = value` of a custom form, in the order in which the form has them.

    `attribute` is its name in the generic form.
    """

    key: str
    attribute: str
    read: Callable[[Any], Any]
    optional: bool = False


class Assembly(NamedTuple):
    """What a line of assembly says; `signature` is `None` where the definition has its own."""

    clauses: Mapping[str, Clause]
    signature: Signature | None
    in_parentheses: bool
    stated: bool

    @staticmethod
    def of(line: str, members: Mapping[str, Any]) -> Assembly:
        """Returns the assembly that `line` spells for a definition with such `members`."""
        text, _, types = line.partition(" : ")
        clauses: dict[str, Clause] = {}
        for key, name, optional in _CLAUSE.findall(text):
            attribute: Attribute[Any] = members[name]
            clauses[key] = Clause(key, attribute.key, attribute.spelled, bool(optional))
        signature = SIGNATURES[types] if types else None
        return Assembly(clauses, signature, text.startswith("("), bool(line))


def heading(assembly: Assembly, operation: Operation) -> Head | None:
    """Returns the operands and clauses of an operation, or `None` where one cannot be spelled."""
    rest = dict(operation.attributes)
    parts = list(operation.operands)
    for clause in assembly.clauses.values():
        if clause.attribute not in rest:
            if clause.optional:
                continue
            return None
        text = bare(rest.pop(clause.attribute), clause.read)
        if text is None:
            return None
        parts.append(f"{clause.key} = {text}")
    text = ", ".join(parts)
    return Head(f"({text})" if assembly.in_parentheses else text, rest)


def named(operation: Operation, key: str, kind: type[str]) -> Head | None:
    """Returns `@name(operands)`, where the attribute `key` is a name of that kind."""
    rest = dict(operation.attributes)
    name = rest.pop(key, None)
    if type(name) is not kind or "::@" in name or not name:
        return None
    return Head(f"{referred(name)}({', '.join(operation.operands)})", rest)


def bare(value: Any, read: Callable[[Any], Any]) -> str | None:
    """Returns `value` as a clause spells it, or `None` where that would be read as another."""
    match value:
        case Packed():
            plain: Any = tuple(value)
        case Word():
            plain = Word(value)
        case tuple():
            plain = tuple([Word(part) if isinstance(part, Word) else part for part in value])
        case Record():
            plain = dict(value)
        case _:
            plain = value
    if not same(read(plain), value):
        return None
    if isinstance(plain, dict):
        return f"<{', '.join(f'{key} = {spelled(part)}' for key, part in plain.items())}>"
    return spelled(plain)


def _joined(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types))


def _shared(type: FunctionType) -> str:
    """One type where every operand is of the result's."""
    shared = len(type.results) == 1 and {*type.operands} <= {*type.results}
    return str(type.results[0]) if shared else function_type(type)


def _results(type: FunctionType) -> str:
    return _joined(type.results)


def _arrow(type: FunctionType) -> str:
    return f"{_joined(type.operands)} -> {produced(type.results)}"


SIGNATURES: Final[Mapping[str, Signature]] = {
    "same-type": _shared,
    "functional-type": function_type,
    "result-types": _results,
    "operand-types -> result-types": _arrow,
}
