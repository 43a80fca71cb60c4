"""The phrases that one operation alone is written with, turned into its generic attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topos.stablehlo.dialect import find
from topos.stablehlo.ir import (
    OtherType,
    Symbol,
    Typed,
)
from topos.stablehlo.parsed import ParsedOperation

__all__ = ["phrased"]

I32: Final = OtherType("i32")


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


def _get_tuple_element(parsed: ParsedOperation) -> ParsedOperation:
    match parsed.words:
        case (((int() as index,),),):
            return parsed.spelled({"index": Typed(index, I32)})
    raise parsed.misread("[index]")


_PHRASES: Final[Mapping[str, Callable[[ParsedOperation], ParsedOperation]]] = {
    "call": _called("callee", Symbol, Symbol),
    "func.call": _called("callee", Symbol, Symbol),
    "stablehlo.composite": _called("name", str, str),
    "stablehlo.custom_call": _called("call_target_name", Symbol, str),
    "stablehlo.get_tuple_element": _get_tuple_element,
}
