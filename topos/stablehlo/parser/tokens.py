"""Reading of single tokens: numbers, strings, symbols, arrays and dense constants."""

from __future__ import annotations

import re
from typing import Any, Final

from lark import Token

from topos.stablehlo.ir import Dense, OtherType, Packed, Symbol, Type, Typed
from topos.stablehlo.token_error import TokenError
from topos.stablehlo.types import number_of

__all__ = ["dense", "integer", "packed", "sequence", "string", "symbol", "typed"]

_ESCAPE: Final = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_CONTROLS: Final = {b"n": b"\n", b"t": b"\t"}
_PART: Final = re.compile(r'::@|"(?:[^"\\]|\\.)*"|[^":]+')
_INTEGER: Final = re.compile(r"([su]?)i(\d{1,4})")
_UNSAID: Final = OtherType("none")
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}


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
    return Dense(body, _UNSAID, token.line or 0, token.column or 0)


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
