"""The phrases that one operation alone is written with, turned into its generic attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.stablehlo.dialect import find
from topos.stablehlo.ir import (
    Block,
    Crossed,
    Dense,
    Operation,
    OtherType,
    Packed,
    Parameter,
    Record,
    Region,
    Symbol,
    Tensor,
    Typed,
    Unranked,
    Word,
)
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.parser.clauses import (
    ALGORITHM,
    DIRECTION,
    DOT,
    KIND,
    axes,
    precisions,
    record,
)
from topos.stablehlo.parser.records import layout
from topos.stablehlo.token_error import TokenError

__all__ = ["COMMUTATIVE", "WINDOW", "phrased"]

I32: Final = OtherType("i32")
# The fields of a convolution's window, in the order in which they are written.
WINDOW: Final[Mapping[str, str]] = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}
# What a reduction may apply by its name alone.
COMMUTATIVE: Final = frozenset(
    f"stablehlo.{name}" for name in ("add", "and", "maximum", "minimum", "multiply", "or", "xor")
)
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


def _slice(parsed: ParsedOperation) -> ParsedOperation:
    match parsed.words:
        case (tuple() as ranges,) if all(2 <= len(part) <= 3 for part in ranges):
            spelled = {
                "start_indices": Packed(part[0] for part in ranges),
                "limit_indices": Packed(part[1] for part in ranges),
                "strides": Packed(part[2] if len(part) == 3 else 1 for part in ranges),
            }
            return parsed.spelled(spelled)
    raise parsed.misread("[start:limit:stride, ...]")


def _get_tuple_element(parsed: ParsedOperation) -> ParsedOperation:
    match parsed.words:
        case (((int() as index,),),):
            return parsed.spelled({"index": Typed(index, I32)})
    raise parsed.misread("[index]")


def _dot_general(parsed: ParsedOperation) -> ParsedOperation:
    attributes = dict(parsed.attributes)
    numbers: dict[str, Any] = {}
    for clause, attribute in (("batching_dims", "batching"), ("contracting_dims", "contracting")):
        lists = attributes.pop(clause, Crossed(((), ())))
        if not isinstance(lists, Crossed) or len(lists) != 2:
            raise parsed.misread(f"{clause} = [..] x [..]")
        numbers[f"lhs_{attribute}_dimensions"], numbers[f"rhs_{attribute}_dimensions"] = lists
    spelled: dict[str, Any] = {"dot_dimension_numbers": Record(numbers, DOT)}
    if "precision" in attributes:
        spelled["precision_config"] = precisions(attributes.pop("precision"))
    if "algorithm" in attributes:
        spelled["algorithm"] = record(ALGORITHM)(attributes.pop("algorithm"))
    if None in spelled.values():
        raise parsed.misread("precision = [..], algorithm = <..>")
    return parsed._replace(attributes={**attributes, **spelled})


def _convolution(parsed: ParsedOperation) -> ParsedOperation:
    attributes = dict(parsed.attributes)
    window = attributes.pop("window", {})
    numbers = attributes.pop("dim_numbers", None)
    if not isinstance(window, dict) or not isinstance(numbers, Crossed) or len(numbers) != 3:
        raise parsed.misread("dim_numbers = [..]x[..]->[..], window = {..}")
    numbers = layout(parsed.name, numbers)
    spelled = {WINDOW.get(key, key): _field(parsed, key, window[key]) for key in window}
    attributes = {"dimension_numbers": numbers, **spelled, **attributes}
    return parsed._replace(attributes=attributes)


def _field(parsed: ParsedOperation, key: str, value: Any) -> Any:
    if key == "pad":
        return _padding(parsed, value)
    if key == "reverse" and type(value) is tuple and all(part in (0, 1) for part in value):
        return Packed(map(bool, value), "i1")
    read = axes(value) if key in WINDOW and key != "reverse" else None
    if read is None:
        raise parsed.misread(f"window = {{{', '.join(WINDOW)}}}, got {key}")
    return read


def _padding(parsed: ParsedOperation, value: Any) -> Dense:
    if type(value) is not tuple or not all(
        isinstance(pair, tuple) and len(pair) == 2 and all(type(end) is int for end in pair)
        for pair in value
    ):
        raise parsed.misread("pad = [[low, high], ...]")
    body = ", ".join(f"[{low}, {high}]" for low, high in value)
    line, column = parsed.name.line or 0, parsed.name.column or 0
    return Dense(f"[{body}]" if body else "", Tensor((len(value), 2), "i64"), line, column)


def _reduce_precision(parsed: ParsedOperation) -> ParsedOperation:
    attributes = dict(parsed.attributes)
    match = _FORMAT.fullmatch(str(attributes.pop("format", "")))
    if not match:
        raise parsed.misread("format = e5m10, the bits of exponent and mantissa")
    bits = [Typed(int(digits), I32) for digits in match.groups()]
    attributes |= {"exponent_bits": bits[0], "mantissa_bits": bits[1]}
    return parsed._replace(attributes=attributes)


def _reduce(parsed: ParsedOperation) -> ParsedOperation:
    match parsed.words:
        case ():
            return parsed
        case (Token() as applied,):
            return _applied(parsed, applied)
    raise parsed.misread("applies and the name of one operation, or with a reducer")


def _applied(parsed: ParsedOperation, applied: Token) -> ParsedOperation:
    """Returns a reduction by an operation that is only named, with the region that it means."""
    if applied.value not in COMMUTATIVE:
        names = " ".join(sorted(COMMUTATIVE))
        raise TokenError(f"stablehlo.reduce applies one of {names}", applied)
    types = parsed.types.operands or ()
    if len(parsed.operands) != 2 or len(types) != 2:
        raise TokenError("stablehlo.reduce applies a name to one operand only", applied)
    reduced, element = types
    if isinstance(reduced, Tensor | Unranked):
        # An alias is not known yet; then the type that the reduction starts with is the element's.
        element = Tensor((), reduced.element)
    arguments = (Parameter("%left", element, {}), Parameter("%right", element, {}))
    line, column = applied.line or 0, applied.column or 0
    taken = ("%left", "%right")
    body = Operation(applied.value, ("%result",), taken, {}, (), None, (element,), line, column)
    end = Operation("stablehlo.return", (), ("%result",), {}, (), (element,), (), line, column)
    return parsed._replace(words=(), regions=(Region((Block(arguments, (body, end)),)),))


_PHRASES: Final[Mapping[str, Callable[[ParsedOperation], ParsedOperation]]] = {
    "call": _called("callee", Symbol, Symbol),
    "chlo.constant": _constant,
    "func.call": _called("callee", Symbol, Symbol),
    "sdy.constant": _constant,
    "stablehlo.compare": _compare,
    "stablehlo.composite": _called("name", str, str),
    "stablehlo.constant": _constant,
    "stablehlo.convolution": _convolution,
    "stablehlo.custom_call": _called("call_target_name", Symbol, str),
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dynamic_conv": _convolution,
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.slice": _slice,
}
