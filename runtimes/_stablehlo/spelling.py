"""The spellings: how the parts of a pretty operation are named in its generic form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from lark import Token

from topos.runtimes._stablehlo.misread import MisreadError
from topos.runtimes._stablehlo.syntax import (
    Attributes,
    Block,
    Crossed,
    Dense,
    Operation,
    Parameter,
    Region,
    Tensor,
    Type,
)

__all__ = ["Sentence", "Types", "operation_of", "sentence_of"]


class Types(NamedTuple):
    """The types after an operation's colon; `operands` is `None` where there was no arrow."""

    operands: tuple[Type, ...] | None
    results: tuple[Type, ...]


class Sentence(NamedTuple):
    """An operation as it was written, before its words and clauses have their generic names."""

    name: Token
    operands: tuple[str, ...] = ()
    words: tuple[Any, ...] = ()
    attributes: Attributes = MappingProxyType({})
    regions: tuple[Region, ...] = ()
    types: Types = Types(None, ())
    generic: bool = False


# The clauses of a pretty form whose generic name is another; the rest keep their own.
_CLAUSES: Final[Mapping[str, Mapping[str, str]]] = {
    "stablehlo.all_to_all": {"split_dim": "split_dimension", "concat_dim": "concat_dimension"},
    "stablehlo.broadcast": {"sizes": "broadcast_sizes"},
    "stablehlo.broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "stablehlo.concatenate": {"dim": "dimension"},
    "stablehlo.dot_general": {"precision": "precision_config"},
    "stablehlo.dot": {"precision": "precision_config"},
    "stablehlo.dynamic_broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "stablehlo.dynamic_iota": {"dim": "iota_dimension"},
    "stablehlo.dynamic_slice": {"sizes": "slice_sizes"},
    "stablehlo.einsum": {"config": "einsum_config"},
    "stablehlo.fft": {"type": "fft_type", "length": "fft_length"},
    "stablehlo.get_dimension_size": {"dim": "dimension"},
    "stablehlo.iota": {"dim": "iota_dimension"},
    "stablehlo.pad": {
        "low": "edge_padding_low",
        "high": "edge_padding_high",
        "interior": "interior_padding",
    },
    "stablehlo.reverse": {"dims": "dimensions"},
    "stablehlo.rng": {"distribution": "rng_distribution"},
    "stablehlo.rng_bit_generator": {"algorithm": "rng_algorithm"},
    "stablehlo.transpose": {"dims": "permutation"},
}
_CANONICAL: Final[Mapping[str, str]] = {"call": "func.call", "return": "func.return"}
_NO_CLAUSES: Final[Mapping[str, str]] = {}


def sentence_of(
    name: Token, items: tuple[Any, ...], attributes: Attributes, types: Types
) -> Sentence:
    """Returns the sentence of a list of values, bare words, ranges and `key = value` clauses."""
    operands: list[str] = []
    words: list[Any] = []
    merged = dict(attributes)
    names = _CLAUSES.get(name.value, _NO_CLAUSES)
    for item in items:
        match item:
            case Token(type="VALUE"):
                operands.append(item.value)
            case Token():
                words.append(item)
            case (str(value), ranges) if value.startswith("%"):
                operands.append(value)
                words.append(ranges)
            case (key, value):
                merged[names.get(key, key)] = value
    return Sentence(name, tuple(operands), tuple(words), merged, types=types)


def operation_of(sentence: Sentence, results: tuple[str, ...], location: str) -> Operation:
    """Returns the operation in its generic form."""
    token, operands, words, attributes, regions, types, generic = sentence
    name: str = _CANONICAL.get(token.value, token.value)
    if not generic and name in _SPELLINGS:
        attributes, regions = _SPELLINGS[name](sentence)
    elif words and not generic and name.startswith("stablehlo."):
        raise MisreadError(f"{name} is not written with {_shown(words[0])}", token)
    stated, produced = types
    if stated is None:
        stated, produced = _settled(len(operands), len(results), produced)
    line, column = token.line or 0, token.column or 0
    return Operation(
        name, results, operands, attributes, regions, stated, produced, line, column, location
    )


def _shown(word: Any) -> str:
    return word.value.split("<")[0] if isinstance(word, Token) else "ranges"


def _settled(
    operands: int, results: int, types: tuple[Type, ...]
) -> tuple[tuple[Type, ...] | None, tuple[Type, ...]]:
    """Returns the operand and result types of a form that lists types without an arrow.

    One type is that of every result, and the operands keep theirs unsaid. As many types as
    results are the results'. Two types before a single result are those of `select`, whose
    second one is shared by the remaining operands and the result.
    """
    if len(types) == 2 and results == 1 and operands == 3:
        return (types[0], types[1], types[1]), (types[1],)
    if len(types) == 1:
        return None, types * results
    return None, types


Spelled = tuple[Attributes, tuple[Region, ...]]


def _compare(sentence: Sentence) -> Spelled:
    keys = ("comparison_direction", "compare_type")
    return _worded(sentence, keys)


def _worded(sentence: Sentence, keys: tuple[str, ...]) -> Spelled:
    if not 1 <= len(sentence.words) <= len(keys) or not all(
        isinstance(word, str) for word in sentence.words
    ):
        name = sentence.name.value
        raise MisreadError(f"{name} is written with {' and perhaps '.join(keys)}", sentence.name)
    words = [getattr(word, "value", word) for word in sentence.words]
    return {**sentence.attributes, **dict(zip(keys, words, strict=False))}, sentence.regions


def _constant(sentence: Sentence) -> Spelled:
    match sentence.words:
        case (Token(type="DENSE") as token,) if len(sentence.types.results) == 1:
            body = token.value[len("dense<") : -1]
            line, column = token.line or 0, token.column or 0
            value = Dense(body, sentence.types.results[0], line, column)
            return {**sentence.attributes, "value": value}, ()
    raise MisreadError("stablehlo.constant is written with dense<...> : type", sentence.name)


def _slice(sentence: Sentence) -> Spelled:
    match sentence.words:
        case (tuple() as ranges,) if all(2 <= len(part) <= 3 for part in ranges):
            spelled = {
                "start_indices": tuple(part[0] for part in ranges),
                "limit_indices": tuple(part[1] for part in ranges),
                "strides": tuple(part[2] if len(part) == 3 else 1 for part in ranges),
            }
            return {**sentence.attributes, **spelled}, ()
    raise MisreadError("stablehlo.slice is written with [start:limit:stride, ...]", sentence.name)


def _get_tuple_element(sentence: Sentence) -> Spelled:
    match sentence.words:
        case (((int() as index,),),):
            return {**sentence.attributes, "index": index}, ()
    raise MisreadError("stablehlo.get_tuple_element is written with [index]", sentence.name)


def _dot_general(sentence: Sentence) -> Spelled:
    attributes = dict(sentence.attributes)
    numbers: dict[str, Any] = {}
    for clause, attribute in (("batching_dims", "batching"), ("contracting_dims", "contracting")):
        lists = attributes.pop(clause, Crossed(((), ())))
        if not isinstance(lists, Crossed) or len(lists) != 2:
            raise MisreadError(
                f"stablehlo.dot_general is written with {clause} = [..] x [..]", sentence.name
            )
        numbers[f"lhs_{attribute}_dimensions"], numbers[f"rhs_{attribute}_dimensions"] = lists
    return {"dot_dimension_numbers": numbers, **attributes}, ()


_WINDOW: Final[Mapping[str, str]] = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


def _convolution(sentence: Sentence) -> Spelled:
    attributes = dict(sentence.attributes)
    window = attributes.pop("window", {})
    numbers = attributes.pop("dim_numbers", None)
    if not isinstance(window, dict) or not isinstance(numbers, Crossed) or len(numbers) != 3:
        form = "dim_numbers = [..]x[..]->[..], window = {..}"
        raise MisreadError(f"{sentence.name.value} is written with {form}", sentence.name)
    spelled = {_WINDOW.get(key, key): value for key, value in window.items()}
    return {"dimension_numbers": numbers, **spelled, **attributes}, ()


def _reduce(sentence: Sentence) -> Spelled:
    if not sentence.words:
        return sentence.attributes, sentence.regions
    applied: Token = sentence.words[0]
    types = sentence.types.operands
    element = types[-1] if types else None
    if len(sentence.operands) != 2 or not isinstance(element, Tensor):
        raise MisreadError("stablehlo.reduce applies a name to one operand only", applied)
    arguments = (Parameter("%left", element, {}), Parameter("%right", element, {}))
    line, column = applied.line or 0, applied.column or 0
    names = ("%left", "%right")
    body = Operation(applied.value, ("%result",), names, {}, (), None, (element,), line, column)
    end = Operation("stablehlo.return", (), ("%result",), {}, (), (element,), (), line, column)
    return sentence.attributes, (Region((Block(arguments, (body, end)),)),)


def _callee(sentence: Sentence) -> Spelled:
    return _worded(sentence, ("callee",))


def _composite(sentence: Sentence) -> Spelled:
    return _worded(sentence, ("name",))


def _custom_call(sentence: Sentence) -> Spelled:
    return _worded(sentence, ("call_target_name",))


_SPELLINGS: Final[Mapping[str, Callable[[Sentence], Spelled]]] = {
    "func.call": _callee,
    "stablehlo.compare": _compare,
    "stablehlo.composite": _composite,
    "stablehlo.constant": _constant,
    "stablehlo.convolution": _convolution,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dynamic_conv": _convolution,
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.reduce": _reduce,
    "stablehlo.slice": _slice,
}
