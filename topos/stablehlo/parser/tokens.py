"""Reading of single tokens and of types: one function each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from lark import Token

from topos.stablehlo.ir import (
    Dense,
    FunctionType,
    OtherType,
    Packed,
    Symbol,
    Tensor,
    TupleType,
    Type,
    Typed,
    Unranked,
)
from topos.stablehlo.parsed import TokenError, place_of, placed
from topos.stablehlo.types import EXISTING, is_element, number_of

_ESCAPE: Final = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_CONTROLS: Final = {b"n": b"\n", b"t": b"\t"}
_PART: Final = re.compile(r'::@|"(?:[^"\\]|\\.)*"|[^":]+')
_INTEGER: Final = re.compile(r"([su]?)i(\d{1,4})")
_UNSAID: Final = OtherType("none")
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}
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


def integer(token: Token) -> int:
    """Returns the token's integer, decimal or hexadecimal."""
    if len(token.value) > 100:
        raise TokenError("an integer is too long to be one", token)
    return int(token.value, 16) if token.type == "HEX" else int(token.value)


def string(token: Token) -> str:
    """Returns what stands between the quotes, with its escapes resolved.

    Escaped bytes that are no UTF-8 become surrogates, as `os.fsdecode` makes them.
    """
    return _unquoted(token.value)


def symbol(token: Token) -> Symbol:
    """Returns the name after the `@`; the names of a nested one are parted by `::@`."""
    text = token.value[1:]
    if '"' not in text:
        return Symbol(text)
    parts = _PART.findall(text)
    return Symbol("".join(_unquoted(part) if part[0] == '"' else part for part in parts))


def typed(token: Token, type: Type) -> Any:
    """Returns a number of a stated type; that of an i64 or f64 is the number alone.

    Hexadecimal digits are the bits of a float. An i1 is a truth value.
    """
    element = type.text if isinstance(type, OtherType) else ""
    if element == "i1" and token.value in ("0", "1", "-1"):
        return token.value != "0"
    value: Any = _number(token, element)
    return (
        value if element == ("f64" if isinstance(value, float) else "i64") else Typed(value, type)
    )


def sequence(*parts: Any) -> tuple[Any, ...]:
    """Returns the parts of a rule that is a list."""
    return parts


def packed(token: Token) -> Packed:
    """Returns the numbers of `array<element: ...>`."""
    element, _, body = token.value[len("array<") : -1].partition(":")
    element = element.strip()
    parts = [part.strip() for part in body.split(",")] if body.strip() else []
    try:
        if element == "i1":
            return Packed([_TRUTH[part] for part in parts], element)
        read = _float if element[:1] in ("b", "f") else _element
        return Packed([read(part, element) for part in parts], element)
    except (KeyError, ValueError):
        raise TokenError(f"array<{element}: ...> holds something else", token) from None


def dense(token: Token, blob: Token | None = None) -> Dense:
    """Returns a dense constant with its body unread and its type unsaid.

    The body of a resource is its whole spelling. A `blob` of digits is a token of its own, whose
    text may be most of the module's and is not copied.
    """
    if blob is not None:
        body = blob.value
    else:
        body = token.value[len("dense<") : -1] if token.type == "DENSE" else token.value
    return Dense(body, _UNSAID, *place_of(token))


def _unquoted(text: str) -> str:
    text = text[1:-1]
    if "\\" not in text:
        return text
    # An escape is a byte, and several of them may make up one character.
    raw = _ESCAPE.sub(_escaped, text.encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")


def _escaped(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes.fromhex(match[1].decode())
    return _CONTROLS.get(match[2], match[2])


def _number(token: Token, element: str) -> int | float:
    if token.type == "FLOAT":
        if _INTEGER.fullmatch(element) or element == "index":
            raise TokenError(f"an {element} is no {token.value}", token)
        return float(token.value)
    value = integer(token)
    if not element:
        return value
    if token.type == "HEX" and element[0] in "bf":
        number = number_of(value, element)
        if number is None:
            raise TokenError(f"{token.value} are no bits of {element}", token)
        return number
    if not _fits(value, element):
        raise TokenError(f"{token.value} is no {element}", token)
    return value


def _fits(value: int, element: str) -> bool:
    """Returns whether `element` holds `value`; a signless one takes either reading of its bits."""
    if element == "index":
        return -(1 << 63) <= value < 1 << 63
    match = _INTEGER.fullmatch(element)
    if not match:
        return False
    sign, bits = match[1], int(match[2])
    lowest = 0 if sign == "u" or not bits else -(1 << (bits - 1))
    return lowest <= value < (1 << (bits - (sign == "s") if bits else 0))


def _element(part: str, element: str) -> int:
    value = int(part)
    if not _fits(value, element):
        raise ValueError
    return value


def _float(part: str, element: str) -> float:
    number = number_of(int(part, 16), element) if part.startswith("0x") else float(part)
    if number is None:
        raise ValueError
    return number


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
