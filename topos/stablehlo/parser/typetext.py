"""Reading of types: one function a grammar rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from lark import Token

from topos.stablehlo.ir import FunctionType, OtherType, Tensor, TupleType, Type, Unranked
from topos.stablehlo.parser.tokens import sequence
from topos.stablehlo.token_error import TokenError, placed
from topos.stablehlo.types import EXISTING, is_element

__all__ = ["RULES", "stands_alone", "tensor_of"]

_EXTENT: Final = re.compile(r"\s*(?:([0-9]{1,19})|\?)\s*x")
_NUMBER: Final = re.compile(r"([0-9]+)\s*x")
# MLIR counts in 64 bits with a sign.
_BEYOND: Final = 1 << 63
_UNRANKED: Final = re.compile(r"\*\s*x\s*")
_SCALAR: Final = re.compile(r"[su]?i\d+|f\d+(?:E\d+M\d+[A-Z0-9]*)?|bf16|tf32|index|none")
# An element of a dialect, of which the verifier tells that it is not supported.
_FURTHER: Final = re.compile(r"(?:vector|!\w[\w$.]*)<.*>|!\w.*", re.S)
# Types of one spelling are read once, as long as no text brings more of them than this.
_KEPT: Final = 4096


def stands_alone(word: str) -> bool:
    """Returns whether a bare word is an attribute: a type, or what a key without a value is."""
    return word == "unit" or _SCALAR.fullmatch(word) is not None


def _tensor_type(token: Token) -> Type:
    type = _tensor(token.value)
    if not is_element(type.element) and not _FURTHER.fullmatch(type.element):
        raise _misnamed(type.element, token)
    return type


def tensor_of(text: str) -> Type:
    """Returns the tensor type that `text` spells alone; raises `ParseError` where it spells none.

    An example is `"tensor<2x?xf32>"`.
    """
    try:
        return _tensor_type(Token("TENSOR", text, line=1, column=1))
    except TokenError as error:
        raise placed(error, text) from None


def _misnamed(element: str, token: Token) -> TokenError:
    extent = _NUMBER.match(element)
    if extent is None:
        return TokenError(f"no element is called {element[:40]!r}; {EXISTING}", token)
    before = token.value[: token.value.index(element)]
    lines, last = before.count("\n"), len(before) - before.rfind("\n") - 1
    column = last + 1 if lines else (token.column or 1) + last
    digits = extent[1] if len(extent[1]) <= 40 else f"{extent[1][:37]}..."
    place = Token("EXTENT", digits, line=(token.line or 1) + lines, column=column)
    return TokenError(f"an extent is less than 2**63, got {digits}", place)


@lru_cache(_KEPT)
def _tensor(text: str) -> Tensor | Unranked:
    body = text[len("tensor<") : -1].strip()
    if match := _UNRANKED.match(body):
        return Unranked(body[match.end() :])
    shape: list[int | None] = []
    start = 0
    while (match := _EXTENT.match(body, start)) and int(match[1] or 0) < _BEYOND:
        shape.append(int(match[1]) if match[1] else None)
        start = match.end()
    element, encoding = _split(body[start:])
    # Bounds of MHLO have the older spelling of StableHLO's.
    if encoding.startswith("#mhlo.type_extensions<"):
        encoding = encoding.replace("#mhlo", "#stablehlo", 1)
    return Tensor(tuple(shape), element, encoding)


def _split(text: str) -> tuple[str, str]:
    """Returns the element and the encoding, parted at the first comma outside angle brackets."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            return text[:position].strip(), text[position + 1 :].strip()
    return text.strip(), ""


def _other_type(token: Token) -> OtherType:
    if token.type == "WORD" and not _SCALAR.fullmatch(token.value):
        raise TokenError(f"no type is called {token.value[:40]}", token)
    # The token of MHLO is that of StableHLO.
    return OtherType("!stablehlo.token" if token.value == "!mhlo.token" else token.value)


def _tuple_type(parts: tuple[Type, ...] | None) -> TupleType:
    return TupleType(parts or ())


def _function_type(operands: tuple[Type, ...] | None, results: tuple[Type, ...]) -> FunctionType:
    return FunctionType(operands or (), results)


def _produced(*results: Any) -> tuple[Type, ...]:
    # The parenthesised list arrives as one plain tuple, the bare type as itself.
    return results[0] if results and type(results[0]) is tuple else results


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "tensor_type": _tensor_type,
    "other_type": _other_type,
    "tuple_type": _tuple_type,
    "types": sequence,
    "produced": _produced,
    "function_type": _function_type,
}
