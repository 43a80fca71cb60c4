"""The phrases that one operation alone is written with, turned into its generic attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from lark import Token

from topos.stablehlo.dialect import find
from topos.stablehlo.ir import (
    Dense,
    OtherType,
    Symbol,
    Typed,
    Word,
)
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.parser.clauses import (
    DIRECTION,
    KIND,
)

__all__ = ["phrased"]

I32: Final = OtherType("i32")
_FORMAT: Final = re.compile(r"e(\d{1,9})m(\d{1,9})")


def phrased(parsed: ParsedOperation) -> ParsedOperation:
    """Returns `parsed` with its words and clauses as attributes, where its operation has any."""
    name = parsed.name.value
    definition = find(name)
    if definition is not None:
        return definition.read(parsed)
    phrase = _PHRASES.get(name)
    if phrase is not None:
        return phrase(parsed)
    return parsed


def _compare(parsed: ParsedOperation) -> ParsedOperation:
    words = [word.value for word in parsed.words if isinstance(word, Token)]
    if not 1 <= len(words) <= 2 or len(words) != len(parsed.words):
        raise parsed.misread("comparison_direction and perhaps compare_type")
    spelled = {"comparison_direction": Word(words[0], DIRECTION)}
    if len(words) == 2:
        spelled["compare_type"] = Word(words[1], KIND)
    return parsed.spelled(spelled)


def _called(
    key: str, written: type[str], kept: type[str]
) -> Callable[[ParsedOperation], ParsedOperation]:
    """Returns the phrase of an operation that names `key` as `written`: a symbol or a string."""

    def named(parsed: ParsedOperation) -> ParsedOperation:
        match parsed.words:
            case (str(name),) if type(name) is written:
                return parsed.spelled({key: kept(name)})
        noun = "@name" if written is Symbol else '"name"'
        raise parsed.misread(f"{noun} as {key}")

    return named


def _constant(parsed: ParsedOperation) -> ParsedOperation:
    match parsed.words:
        case (Dense(body, _, line, column),) if len(parsed.types.results) == 1:
            value = Dense(body, parsed.types.results[0], line, column)
            return parsed.spelled({"value": value})
        case () if "value" in parsed.attributes:
            return parsed
    raise parsed.misread("dense<...> : type")


def _get_tuple_element(parsed: ParsedOperation) -> ParsedOperation:
    match parsed.words:
        case (((int() as index,),),):
            return parsed.spelled({"index": Typed(index, I32)})
    raise parsed.misread("[index]")


def _reduce_precision(parsed: ParsedOperation) -> ParsedOperation:
    attributes = dict(parsed.attributes)
    match = _FORMAT.fullmatch(str(attributes.pop("format", "")))
    if not match:
        raise parsed.misread("format = e5m10, the bits of exponent and mantissa")
    bits = [Typed(int(digits), I32) for digits in match.groups()]
    attributes |= {"exponent_bits": bits[0], "mantissa_bits": bits[1]}
    return parsed._replace(attributes=attributes)


_PHRASES: Final[Mapping[str, Callable[[ParsedOperation], ParsedOperation]]] = {
    "call": _called("callee", Symbol, Symbol),
    "chlo.constant": _constant,
    "func.call": _called("callee", Symbol, Symbol),
    "sdy.constant": _constant,
    "stablehlo.compare": _compare,
    "stablehlo.composite": _called("name", str, str),
    "stablehlo.constant": _constant,
    "stablehlo.custom_call": _called("call_target_name", Symbol, str),
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.reduce_precision": _reduce_precision,
}
