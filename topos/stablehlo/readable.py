"""Attributes and types that a text can say: each is spelled, read back, and compared."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from topos.errors import ArgumentError, ToposError
from topos.stablehlo.attribute_text import dictionary
from topos.stablehlo.dense import decoded
from topos.stablehlo.equality import same
from topos.stablehlo.ir import (
    Crossed,
    Dense,
    FunctionType,
    Opaque,
    OtherType,
    Packed,
    Record,
    Symbol,
    Tensor,
    TupleType,
    Type,
    Typed,
    Unranked,
    Word,
)
from topos.stablehlo.parsed import TokenError
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.parser.stream import DEEPEST
from topos.stablehlo.parser.tokens import stands_alone
from topos.stablehlo.read import told_of
from topos.stablehlo.types import ELEMENTS

# A name under which anything may stand, and the most texts whose reading is remembered.
_KEY: Final = "a.b"
_KEPT: Final = 4096
_LONGEST: Final = 256
# An i64 is written by either of the two readings of its bits.
_LEAST: Final = -(1 << 63)
_BEYOND: Final = 1 << 64
_ATTRIBUTES: Final = (
    *(bool, int, float, str, Crossed, Dense, FunctionType, Opaque, Packed, Record, Typed),
    *(OtherType, Tensor, TupleType, Unranked),
)
_CLASSES: Final = (
    "an attribute is a number, a truth value, a string, a list or dictionary of such, a type, or "
    "of a class such as Dense"
)


def readable(what: str, attributes: Any) -> Mapping[str, Any]:
    """Returns attributes as the tree holds them: numpy's numbers as Python's, lists as tuples.

    Raises `ArgumentError`, which tells of `what`, where the text of one would not read back as it.
    """
    if not isinstance(attributes, Mapping):
        raise ArgumentError(f"{what} takes a dictionary as attributes, got {attributes!r}")
    made: dict[str, Any] = {}
    for key, value in attributes.items():
        if not isinstance(key, str) or not key:
            raise ArgumentError(f"{what} takes the names of attributes as text, got {key!r}")
        made[key] = value
        # What nearly every attribute is needs no look at its text.
        if _is_plain(value) and key.isascii():
            continue
        try:
            made[key] = _of_the_tree(value)
            fault = _fault({key: made[key]})
        except RecursionError:
            fault = f"brackets nested this deep, more than {DEEPEST} in one another"
        if fault:
            raise ArgumentError(f"{what} cannot take {reprlib.repr(value)} as {key!a}: {fault}")
    return made


def demand_readable_type(type: Type) -> None:
    """Raises `ArgumentError` where the text of a type would not read back as it."""
    try:
        fault = _type_fault(type)
    except RecursionError:
        fault = f"brackets nested this deep, more than {DEEPEST} in one another"
    # A class of the tree that holds something else.
    except TypeError:
        fault = "it cannot be spelled"
    if fault:
        raise ArgumentError(f"{reprlib.repr(type)} is no type: {fault}")


@lru_cache(_KEPT)
def _type_fault(type: Type) -> str:
    return _fault({_KEY: type})


def demand_symbol(what: str, name: Any) -> None:
    """Raises `ArgumentError` where a name is none that a function or a module may have."""
    if not isinstance(name, str) or "::@" in name or _fault({_KEY: Symbol(name)}):
        raise ArgumentError(f"{what} is a string of UTF-8 without ::@, got {reprlib.repr(name)}")


def _is_plain(value: Any) -> bool:
    if type(value) is Packed and value.element == "i64":
        return all(type(part) is int and _LEAST <= part < _BEYOND for part in value)
    if type(value) is int:
        return _LEAST <= value < _BEYOND
    return type(value) is bool or (type(value) is str and value.isascii())


def _of_the_tree(value: Any) -> Any:
    """Returns an attribute with numpy's numbers as Python's and lists as tuples."""
    if isinstance(value, np.generic):
        return value.item() if isinstance(value, (np.bool_, np.integer, np.floating)) else value
    if type(value) in (list, tuple):
        return tuple(map(_of_the_tree, value))
    if type(value) is dict:
        return {key: _of_the_tree(part) for key, part in value.items()}
    return value


def _fault(entry: dict[str, Any]) -> str:
    """Returns why the text of a dictionary's one entry would not read back as it, or `""`."""
    (value,) = entry.values()
    if type(value) is Dense and isinstance(value.type, Tensor) and value.type.element in ELEMENTS:
        return _constant_fault(value) or _fault(dict.fromkeys(entry, True))
    if not _is_attribute(value):
        return _CLASSES
    try:
        text = dictionary(entry)
    except UnicodeEncodeError:
        return "a string is text that UTF-8 can hold"
    # A class of the tree that holds something else.
    except (AttributeError, TypeError, ValueError):
        return _CLASSES
    read = _remembered(text) if len(text) <= _LONGEST else _read(text)
    if isinstance(read, ToposError):
        return str(getattr(read, "reason", read))
    return "" if same(read, entry) else f"it reads back as {reprlib.repr(read)}"


def _constant_fault(value: Dense) -> str:
    if not isinstance(value.body, str):
        return "its elements are no text"
    if value.body.startswith("dense_resource<"):
        return ""
    try:
        decoded(value)
    except TokenError as error:
        return error.reason
    except ToposError as error:
        return str(error)
    return ""


def _is_attribute(value: Any) -> bool:
    """Returns whether a value is of the classes of attributes, as its parts are."""
    if type(value) is tuple:
        return all(map(_is_attribute, value))
    if type(value) is dict:
        named = all(isinstance(key, str) and key for key in value)
        return named and all(map(_is_attribute, value.values()))
    if isinstance(value, Word) and not value.opening:
        # Any other word stands in the fields of a dialect's attribute only.
        return stands_alone(value)
    return isinstance(value, _ATTRIBUTES)


@lru_cache(_KEPT)
def _remembered(text: str) -> Any:
    return _read(text)


def _read(text: str) -> Any:
    """Returns the attributes that a dictionary's text spells, or the error where it spells none."""
    try:
        with told_of(""):
            return parse(f"module attributes {text} {{\n}}").attributes
    except ToposError as error:
        return error
