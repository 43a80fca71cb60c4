"""The pretty forms: for every operation that has one, what stands between its name and colon."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from topos.stablehlo.assembly import Clause, Head, bare
from topos.stablehlo.attribute_text import (
    crossed,
    listed,
    quoted,
    referred,
)
from topos.stablehlo.equality import same
from topos.stablehlo.ir import (
    Crossed,
    Dense,
    Operation,
    OtherType,
    Packed,
    Record,
    Symbol,
    Tensor,
    Typed,
    Word,
)
from topos.stablehlo.parser.clauses import (
    ALGORITHM,
    CLAUSES,
    DIRECTION,
    DOT,
    KIND,
    precisions,
    record,
)
from topos.stablehlo.parser.phrases import WINDOW

__all__ = ["Head", "head_of"]


_PAIRS: Final = re.compile(r"\[\[-?\d+, -?\d+\](?:, \[-?\d+, -?\d+\])*\]")

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


def _slice(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    columns = [rest.pop(key, None) for key in ("start_indices", "limit_indices", "strides")]
    if not all(_is_axes(column) for column in columns) or len({*map(len, columns)}) != 1:
        return None
    ranges = [
        f"{start}:{limit}" if stride == 1 else f"{start}:{limit}:{stride}"
        for start, limit, stride in zip(*columns, strict=True)
    ]
    return Head(f"{', '.join(operation.operands)} [{', '.join(ranges)}]", rest)


def _is_axes(value: Any) -> bool:
    return isinstance(value, Packed) and value.element == "i64"


def _get_tuple_element(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    match rest.pop("index", None), operation.operands:
        case Typed(int() as index, OtherType("i32")), (operand,):
            return Head(f"{operand}[{index}]", rest)
    return None


_DOT_CLAUSES: Final = (
    ("precision_config", "precision", precisions),
    ("algorithm", "algorithm", record(ALGORITHM)),
)


def _dot_general(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    numbers = rest.pop("dot_dimension_numbers", None)
    if not isinstance(numbers, Record) or numbers.opening != DOT or len(numbers) != 4:
        return None
    parts = list(operation.operands)
    for kind in ("batching", "contracting"):
        sides: list[Any] = [numbers.get(f"{side}_{kind}_dimensions") for side in ("lhs", "rhs")]
        if any(type(side) is not tuple for side in sides):
            return None
        if kind == "contracting" or any(sides):
            parts.append(f"{kind}_dims = {' x '.join(map(listed, sides))}")
    for key, clause, read in _DOT_CLAUSES:
        if key not in rest:
            continue
        text = bare(rest.pop(key), read)
        if text is None:
            return None
        parts.append(f"{clause} = {text}")
    return Head(", ".join(parts), rest)


def _convolution(operation: Operation) -> Head | None:
    rest = dict(operation.attributes)
    numbers = rest.pop("dimension_numbers", None)
    if not isinstance(numbers, Crossed) or len(numbers) != 3:
        return None
    fields = []
    for clause, key in WINDOW.items():
        text = _field(rest.get(key))
        if text is not None:
            fields.append(f"{clause} = {text}")
            del rest[key]
    window = f"window = {{{', '.join(fields)}}}"
    operands = ", ".join(operation.operands)
    return Head(f"({operands}) dim_numbers = {crossed(numbers)}, {window}", rest)


def _field(value: Any) -> str | None:
    """Returns a field of a window, or `None` where only the dictionary can hold it."""
    match value:
        case Packed(element="i64" | "i1"):
            return listed(value)
        case Dense(body=body, type=Tensor((int() as pairs, 2), "i64", "")):
            return body if _PAIRS.fullmatch(body) and body.count(",") == 2 * pairs - 1 else None
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


def _top_k(operation: Operation) -> Head | None:
    head = _plain(operation)
    return None if head is None else head._replace(text=f"({head.text})")


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
    "chlo.top_k": _top_k,
    "stablehlo.compare": _compare,
    "stablehlo.composite": _composite,
    "stablehlo.convolution": _convolution,
    "stablehlo.custom_call": _named("call_target_name", str),
    "stablehlo.dot_general": _dot_general,
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.slice": _slice,
}


def head_of(operation: Operation) -> Head | None:
    """Returns the head of an operation, or `None` where its pretty form cannot say it."""
    return _HEADS.get(operation.name, _plain)(operation)
