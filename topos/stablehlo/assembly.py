"""The custom assembly of an operation, from one line that its definition states.

`"$operand, dims = $permutation : functional-type"` says that the operands come first, then the
attribute `permutation` as `dims = [...]`, then after the colon the types of operands and results.
An attribute without a key, as in `"$callee($operands)"`, is a word before or after the operands.
`$scale?` may be absent; a line in parentheses is written in parentheses. After the colon stands
one of the keys of `SIGNATURES`, or nothing where the definition has a `signature` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from topos.stablehlo.attribute_text import function_type, produced
from topos.stablehlo.ir import FunctionType, Operation, Symbol, Type, Word
from topos.stablehlo.typed_attributes import Attribute

if TYPE_CHECKING:
    from topos.stablehlo.parsed import ParsedOperation

# Returns the text after an operation's colon.
Signature = Callable[[FunctionType], str]

_PART: Final = re.compile(r"(?:(\w+) = )?\$(\w+)(\??)")
# What stands between a word and the operands after it.
_JOINT: Final = re.compile(r"\$\w+([, ]*)")
# How a refusal shows the word that states an attribute.
_SAMPLES: Final[Mapping[type | None, str]] = {Symbol: "@{}", str: '"{}"'}


class Head(NamedTuple):
    """What follows an operation's name, and the attributes that are left for its dictionary.

    The dictionary stands after the text, unless `rest_leads`.
    """

    text: str
    rest: Mapping[str, Any]
    rest_leads: bool = False


class Clause(NamedTuple):
    """A `key = value` of a custom form, or a word, in the order in which the form has them.

    A word has no key, and may lead the operands. `attribute` is an `Attribute`, which as a field of
    that type would count as a descriptor.
    """

    key: str
    attribute: Any
    optional: bool
    leads: bool


class Assembly(NamedTuple):
    """What a line of assembly says; `signature` is `None` where the definition has its own."""

    clauses: Mapping[str, Clause]
    words: tuple[Clause, ...]
    signature: Signature | None
    text: str
    in_parentheses: bool
    joint: str
    stated: bool

    @staticmethod
    def of(line: str, members: Mapping[str, Any]) -> Assembly:
        """Returns the assembly that `line` spells for a definition with such `members`."""
        text, _, types = line.partition(" : ")
        clauses: list[Clause] = []
        leads, joint = True, _JOINT.match(text)
        for key, name, optional in _PART.findall(text):
            attribute = members.get(name)
            if isinstance(attribute, Attribute):
                clauses.append(Clause(key, attribute, bool(optional), leads))
                shown = _SAMPLES.get(attribute.stated, "{}").format(attribute.key)
                text = text.replace(f"${name}", shown)
            else:
                leads = False
        keyed = {clause.key: clause for clause in clauses if clause.key}
        words = tuple([clause for clause in clauses if not clause.key])
        signature = SIGNATURES[types] if types else None
        shape = ("(" in text, joint[1] if joint else "", bool(line))
        return Assembly(keyed, words, signature, text.replace("$", ""), *shape)


def reading(assembly: Assembly, parsed: ParsedOperation) -> ParsedOperation:
    """Returns what was parsed with its words as the attributes that they are; else raises."""
    given, words = parsed.words, assembly.words
    attributes: dict[str, Any] = {}
    for clause, word in zip(words, given, strict=False):
        plain = word if type(word) in (str, Symbol) or not isinstance(word, str) else Word(word)
        attributes[clause.attribute.key] = clause.attribute.spelled(plain)
    missing = [clause for clause in words[len(given) :] if not clause.optional]
    if missing or len(given) > len(words) or None in attributes.values():
        raise parsed.misread(assembly.text)
    return parsed.spelled(attributes)


def heading(assembly: Assembly, operation: Operation) -> Head | None:
    """Returns the operands, words and clauses, or `None` where one of them cannot be spelled."""
    rest = dict(operation.attributes)
    parts, leading = list(operation.operands), ""
    for clause in (*assembly.words, *assembly.clauses.values()):
        attribute = clause.attribute
        if attribute.key not in rest:
            if clause.optional:
                continue
            return None
        text = attribute.text(rest.pop(attribute.key))
        if not text:
            return None
        if clause.leads and not clause.key:
            leading = text
        else:
            parts.append(f"{clause.key} = {text}" if clause.key else text)
    text = f"({', '.join(parts)})" if assembly.in_parentheses else ", ".join(parts)
    joint = assembly.joint if leading and text else ""
    return Head(f"{leading}{joint}{text}", rest)


def _joined(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types))


def _shared(type: FunctionType) -> str:
    """One type where every operand is of the result's."""
    shared = len(type.results) == 1 and {*type.operands} <= {*type.results}
    return str(type.results[0]) if shared else function_type(type)


def _arrow(type: FunctionType) -> str:
    return f"{_joined(type.operands)} -> {produced(type.results)}"


SIGNATURES: Final[Mapping[str, Signature]] = {
    "same-type": _shared,
    "functional-type": function_type,
    "operand-types": lambda type: _joined(type.operands),
    "result-types": lambda type: _joined(type.results),
    "operand-types -> result-types": _arrow,
}
