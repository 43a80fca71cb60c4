"""Custom assembly: its parts, how they become the generic form, and what MHLO calls them."""

from __future__ import annotations

from typing import Any, Final

from lark import Token

from topos.errors import UnsupportedError
from topos.stablehlo.dense import decoded
from topos.stablehlo.dialect import find, has
from topos.stablehlo.ir import Attributes, Dense, Operation, Packed, Tensor, Type
from topos.stablehlo.parsed import Group, ParsedOperation, Said, TokenError, Types, place_of
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes, Truths

MHLO: Final = "mhlo."
# The dialects whose custom forms are read, each in whole.
_DIALECTS: Final = ("builtin.", "chlo.", "func.", "sdy.", "stablehlo.")


def twin(name: str) -> str:
    """Returns the name that an operation of MHLO has in StableHLO or CHLO; any other is its own."""
    kind = name.removeprefix(MHLO)
    if kind == name:
        return name
    if find(f"stablehlo.{kind}"):
        return f"stablehlo.{kind}"
    return f"chlo.{kind}" if has(f"chlo.{kind}", Trait.MHLO) else name


def foreign(name: str) -> str:
    """Returns why an operation of another dialect is refused."""
    if name.startswith(MHLO):
        return f"{name} has no equal in StableHLO or CHLO that it could be read as"
    return f"{name} is of a dialect that is not read"


def as_arrays(name: str, attributes: Attributes) -> dict[str, Any]:
    """Returns the attributes of the operation `name` as StableHLO has them.

    MHLO keeps lists of integers and of truth values in dense constants, each of one axis.
    """
    definition = find(name)
    declared = () if definition is None else definition.declared_attributes
    arrays = {each.key for each in declared if isinstance(each, Axes | Truths)}
    return {
        key: _array(value) if key in arrays and isinstance(value, Dense) else value
        for key, value in attributes.items()
    }


def _array(value: Dense) -> Any:
    match value.type:
        case Tensor((int(),), "i64" | "i1" as element, ""):
            return Packed(decoded(value).tolist(), element)
    return value


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
        raise UnsupportedError(reason, *place_of(name))


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
    line, column = place_of(token)
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
