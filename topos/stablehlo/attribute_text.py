"""Text of attributes and types, as they stand in a dictionary."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from topos.stablehlo.ir import (
    UNIT,
    Attributes,
    Crossed,
    Dense,
    FunctionType,
    Opaque,
    Operation,
    Packed,
    Parameter,
    Record,
    Symbol,
    Type,
    Typed,
    Word,
)
from topos.stablehlo.types import digits_of

_KEY: Final = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_SYMBOL: Final = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_USUAL: Final[Mapping[type, str]] = {int: " : i64", float: " : f64"}
_PLAIN: Final = frozenset(range(32, 127)) - set(b'"\\')


def spelled(value: Any) -> str:
    """Returns the text of an attribute or a type."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return (
                digits(value, "f64") if math.isfinite(value) else f"{digits_of(value, 'f64')} : f64"
            )
        case Word():
            return f"{value.opening}{value}>" if value.opening else str(value)
        case Symbol():
            return referred(value)
        case str():
            return quoted(value)
        case Dense():
            return f"{bare(value)} : {value.type}"
        case Typed():
            return _typed(value)
        case Opaque():
            return value.text
        case FunctionType():
            return function_type(value)
        case Record():
            fields = [f"{key} = {spelled(part)}" for key, part in value.items()]
            return f"{value.opening}{', '.join(fields)}>"
        case dict():
            return dictionary(value)
        case Packed():
            parts = ", ".join([digits(part, value.element) for part in value])
            return f"array<{value.element}{': ' if value else ''}{parts}>"
        case Crossed():
            return f"#stablehlo.conv<{crossed(value)}>"
        case tuple() if type(value) is tuple:
            return listed(value)
        case _:
            return str(value)


def bare(constant: Dense) -> str:
    """Returns a dense constant without its type."""
    body = constant.body
    return body if body.startswith("dense_resource<") else f"dense<{body}>"


def dictionary(attributes: Attributes) -> str:
    """Returns a dictionary in braces; the keys stand in their order."""
    # Dictionaries nest deep, and a loop costs fewer calls inside one another than an iterator.
    entries: list[str] = []
    for key, value in attributes.items():
        entries.append(_entry(key, value))
    return f"{{{', '.join(entries)}}}"


def listed(parts: Iterable[Any]) -> str:
    """Returns a list in brackets."""
    return f"[{', '.join(map(spelled, parts))}]"


def quoted(text: str) -> str:
    """Returns a string in quotes; whatever is not printable ASCII is escaped byte by byte."""
    raw = text.encode("utf-8", "surrogateescape")
    return f'"{"".join(chr(byte) if byte in _PLAIN else _escaped(byte) for byte in raw)}"'


def referred(name: str) -> str:
    """Returns the reference to a symbol, which may be a nested one."""
    parts = (part if _SYMBOL.fullmatch(part) else quoted(part) for part in name.split("::@"))
    return f"@{'::@'.join(parts)}"


def produced(types: tuple[Type, ...]) -> str:
    """Returns the types of results, which parentheses hold unless there is one."""
    if len(types) == 1 and not str(types[0]).startswith("("):
        return str(types[0])
    return f"({', '.join(map(str, types))})"


def function_type(type: FunctionType) -> str:
    """Returns the types of operands and results with an arrow between them."""
    return f"({', '.join(map(str, type.operands))}) -> {produced(type.results)}"


def _entry(key: str, value: Any) -> str:
    name = key if _KEY.fullmatch(key) else quoted(key)
    if value == UNIT:
        return name
    # A dictionary tells the type of every number, a list only that of the unusual ones.
    type = _USUAL.get(value.__class__, "")
    text = digits(value, "f64") if isinstance(value, float) else spelled(value)
    return f"{name} = {text}{type}"


def _typed(value: Typed) -> str:
    if value == UNIT:
        return "unit"
    text = digits(value.value, str(value.type))
    return f"{text} : {value.type}"


def crossed(value: Crossed) -> str:
    """Returns lists that a cross and perhaps an arrow join."""
    first, second, *rest = map(listed, value)
    return "->".join([f"{first}x{second}", *rest])


def digits(value: Any, element: str) -> str:
    """Returns the text of a number of the type `element`, which does not follow."""
    if not isinstance(value, float):
        return spelled(value)
    if not math.isfinite(value):
        return digits_of(value, element)
    short = f"{value:.6e}"
    if float(short) == value:
        return short
    mantissa, mark, exponent = repr(value).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{mark}{exponent}"


def _escaped(byte: int) -> str:
    return "\\\\" if byte == ord("\\") else f"\\{byte:02X}"


def parameters(arguments: Iterable[Parameter]) -> str:
    """Returns the arguments of a block or a function."""
    return ", ".join(map(_parameter, arguments))


def results_of(operation: Operation) -> str:
    """Returns the names of an operation's results and an equals sign, where there are any."""
    names: list[str] = []
    counts: list[int] = []
    for name in operation.results:
        base, mark, position = name.partition("#")
        if mark and names and names[-1] == base and position == str(counts[-1]):
            counts[-1] += 1
        elif name:
            names.append(base)
            counts.append(1)
    groups = [
        name if count == 1 else f"{name}:{count}" for name, count in zip(names, counts, strict=True)
    ]
    return f"{', '.join(groups)} = " if groups else ""


def _parameter(argument: Parameter) -> str:
    name = f"{argument.name}: " if argument.name else ""
    attributes = f" {dictionary(argument.attributes)}" if argument.attributes else ""
    return f"{name}{argument.type}{attributes}"
