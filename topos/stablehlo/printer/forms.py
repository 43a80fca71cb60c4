"""The pretty forms: for every operation that has one, what stands between its name and colon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topos.stablehlo.assembly import Head
from topos.stablehlo.attribute_text import (
    quoted,
    referred,
)
from topos.stablehlo.ir import (
    Operation,
    OtherType,
    Symbol,
    Typed,
)

__all__ = ["Head", "head_of"]


# Returns the head of an operation, or `None` where its pretty form cannot say it.
Heading = Callable[[Operation], Head | None]


def _plain(operation: Operation) -> Head:
    """A list of values."""
    return Head(", ".join(operation.operands), operation.attributes)


def _get_tuple_element(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    match rest.pop("index", None), operation.operands:
        case Typed(int() as index, OtherType("i32")), (operand,):
            return Head(f"{operand}[{index}]", rest)
    return None


def _named(key: str, kind: type[str]) -> Heading:
    def head(operation: Operation) -> Head | None:
        rest = dict(operation.attributes)
        name = rest.pop(key, None)
        if type(name) is not kind or "::@" in name or not name:
            return None
        return Head(f"{referred(name)}({', '.join(operation.operands)})", rest)

    return head


def _composite(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    name = rest.pop("name", None)
    if type(name) is not str or operation.regions:
        return None
    return Head(" ".join([quoted(name), ", ".join(operation.operands)]).rstrip(), rest)


def _reference(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    name = rest.pop("value", None)
    return Head(referred(name), rest) if isinstance(name, Symbol) else None


def _indirect(operation: Operation) -> Head | None:
    callee, *operands = operation.operands
    return Head(f"{callee}({', '.join(operands)})", operation.attributes)


_HEADS: Final[Mapping[str, Heading]] = {
    "func.call": _named("callee", Symbol),
    "func.call_indirect": _indirect,
    "func.constant": _reference,
    "stablehlo.composite": _composite,
    "stablehlo.custom_call": _named("call_target_name", str),
    "stablehlo.get_tuple_element": _get_tuple_element,
}


def head_of(operation: Operation) -> Head | None:
    """Returns the head of an operation, or `None` where its pretty form cannot say it."""
    return _HEADS.get(operation.name, _plain)(operation)
