"""The parts of an operation's custom assembly, and how they become its generic form."""

from __future__ import annotations

from typing import Any, Final

from lark import Token

from topos.errors import UnsupportedError
from topos.stablehlo.dialect import find, has
from topos.stablehlo.ir import Attributes, Dense, Operation, Type
from topos.stablehlo.parsed import Group, ParsedOperation, Said, Types
from topos.stablehlo.parser.twins import MHLO, foreign, twin
from topos.stablehlo.token_error import TokenError
from topos.stablehlo.traits import Trait

__all__ = [
    "attribute_of",
    "canonical",
    "demand_read",
    "is_read",
    "operation_of",
    "parsed_of",
]

# The dialects whose custom forms are read, each in whole.
_DIALECTS: Final = ("builtin.", "chlo.", "func.", "sdy.", "stablehlo.")


def parsed_of(
    name: Token, items: tuple[Any, ...] | None, attributes: Attributes | None, types: Types
) -> ParsedOperation:
    """Returns what is written as a list of values, bare words, ranges and `key = value` clauses."""
    operands: list[str] = []
    words: list[Any] = []
    spelled: dict[str, Any] = {}
    for item in items or ():
        match item:
            case Token(type="VALUE"):
                operands.append(item.value)
            case Token() | Dense():
                words.append(item)
            case (str(value), ranges) if value.startswith("%"):
                operands.append(value)
                words.append(ranges or ())
            case (key, value):
                key, value = attribute_of(name, key, value)
                spelled[key] = value
    return ParsedOperation(
        name, tuple(operands), tuple(words), {**(attributes or {}), **spelled}, types=types
    )


def canonical(name: Token) -> Token:
    """Returns the name of an operation in full, and that of StableHLO's equal for MHLO's.

    In the body of a function the names of `func` need no prefix.
    """
    if "." not in name:
        return name.update(value=f"func.{name.value}")
    return name.update(value=twin(name.value)) if name.startswith(MHLO) else name


def is_read(name: str) -> bool:
    """Returns whether the custom form of an operation is known; all generic forms are kept."""
    return name.startswith(_DIALECTS) or find(name) is not None


def demand_read(name: Token) -> None:
    """Refuses the custom form of an operation of another dialect."""
    if not is_read(name.value):
        reason = foreign(name.value)
        raise UnsupportedError(reason, name.line or 0, name.column or 0)


def attribute_of(name: Token, key: str, value: Any) -> tuple[str, Any]:
    """Returns the attribute that the clause `key = value` of the operation `name` spells."""
    definition = find(name.value)
    clause = None if definition is None else definition.form.clauses.get(key)
    if clause is None:
        demand_read(name)
        if definition is None or key not in definition.clauses:
            raise TokenError(f"{name.value} is not written with {key} = ...", name)
        return key, value
    read = clause.attribute.spelled(value)
    if read is None:
        raise TokenError(f"{name.value} is not written with such a value of {key}", name)
    return clause.attribute.key, read


def operation_of(parsed: ParsedOperation, groups: tuple[Group, ...], location: str) -> Operation:
    """Returns the operation in its generic form."""
    token, operands, words, attributes, regions, types, successors = parsed
    name: str = token.value
    if words:
        raise _unspelled(parsed)
    stated, produced = types
    if stated is None:
        stated, produced = _settled(name, len(operands), produced)
    if stated is not None and len(stated) != len(operands):
        counts = f"{len(operands)} operands and states types of {len(stated)}"
        raise TokenError(f"{name} has {counts}", token)
    results = _named(token, groups, len(produced))
    line, column = token.line or 0, token.column or 0
    return Operation(
        name,
        results,
        operands,
        attributes,
        regions,
        stated,
        produced,
        line,
        column,
        location,
        successors,
    )


def _named(token: Token, groups: tuple[Group, ...], count: int) -> tuple[str, ...]:
    """Returns the names of `count` results, of which each group has one or several.

    Results that nothing uses may go without a name, all of them together.
    """
    if not groups:
        return ("",) * count
    if len(groups) == 1 and groups[0][1] == 1:
        return (groups[0][0],)
    named = sum(number for _, number in groups)
    if named > count:
        raise TokenError(f"{token.value} names {named} results and states {count}", token)
    return tuple(
        f"{name}#{position}" if number > 1 else name
        for name, number in groups
        for position in range(number)
    )


def _unspelled(parsed: ParsedOperation) -> TokenError:
    name, word = parsed.name, parsed.words[0]
    match word:
        case Token():
            shown = str(word)
        case Dense():
            shown = "dense"
        case Said():
            shown = word.shown
        case str():
            shown = f"the name {str(word)!r}"
        case _:
            shown = "ranges"
    return TokenError(f"{name.value} is not written with {shown}", name)


def _settled(
    name: str, operands: int, types: tuple[Type, ...]
) -> tuple[tuple[Type, ...] | None, tuple[Type, ...]]:
    """Returns the operand and result types of a form that lists types without an arrow.

    Types are those of the results, and the operands keep theirs unsaid. Two types after three
    operands are those of `select`, whose second one the other operands and the result share.
    """
    if has(name, Trait.WITHOUT_RESULT):
        return types, ()
    if has(name, Trait.PAIRWISE):
        return types, types
    if len(types) == 2 and operands == 3:
        return (types[0], types[1], types[1]), (types[1],)
    return None, types
