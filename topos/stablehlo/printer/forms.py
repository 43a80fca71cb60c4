"""The pretty forms: for every operation that has one, what stands between its name and colon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from topos.stablehlo.assembly import Clause, Head, bare
from topos.stablehlo.attribute_text import (
    quoted,
    referred,
)
from topos.stablehlo.equality import same
from topos.stablehlo.ir import (
    Operation,
    OtherType,
    Symbol,
    Typed,
    Word,
)
from topos.stablehlo.parser.clauses import (
    CLAUSES,
    DIRECTION,
    KIND,
)

__all__ = ["Head", "head_of"]


# Returns the head of an operation, or `None` where its pretty form cannot say it.
Heading = Callable[[Operation], Head | None]


def _plain(operation: Operation) -> Head | None:
    """A list of values, then the clauses of the operation."""
    rest = dict(operation.attributes)
    parts = list(operation.operands)
    for clause in CLAUSES.get(operation.name, ()):
        if clause.attribute not in rest:
            if clause.optional:
                continue
            return None
        text = _clause(clause, rest.pop(clause.attribute))
        if text is None:
            return None
        parts.append(text)
    return Head(", ".join(parts), rest)


def _clause(clause: Clause, value: Any) -> str | None:
    text = bare(value, clause.read)
    return None if text is None else f"{clause.key} = {text}"


def _compare(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    direction, kind = rest.pop("comparison_direction", None), rest.pop("compare_type", None)
    if not same(direction, Word(str(direction), DIRECTION)):
        return None
    if kind is not None and not same(kind, Word(str(kind), KIND)):
        return None
    parts = [str(direction), *operation.operands]
    return Head(", ".join(parts if kind is None else [*parts, str(kind)]), rest)


def _get_tuple_element(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    match rest.pop("index", None), operation.operands:
        case Typed(int() as index, OtherType("i32")), (operand,):
            return Head(f"{operand}[{index}]", rest)
    return None


def _reduce_precision(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    match rest.pop("exponent_bits", None), rest.pop("mantissa_bits", None):
        case (
            Typed(int() as exponent, OtherType("i32")),
            Typed(int() as mantissa, OtherType("i32")),
        ) if exponent >= 0 and mantissa >= 0:
            operands = ", ".join(operation.operands)
            return Head(f"{operands}, format = e{exponent}m{mantissa}", rest)
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
    "stablehlo.compare": _compare,
    "stablehlo.composite": _composite,
    "stablehlo.custom_call": _named("call_target_name", str),
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.reduce_precision": _reduce_precision,
}


def head_of(operation: Operation) -> Head | None:
    """Returns the head of an operation, or `None` where its pretty form cannot say it."""
    return _HEADS.get(operation.name, _plain)(operation)
