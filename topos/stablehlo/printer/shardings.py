"""The pretty forms of Shardy's operations, written from what their attributes say in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.attribute_text import (
    dictionary,
    function_type,
    parameters,
    quoted,
    results_of,
)
from topos.stablehlo.ir import Opaque, Operation, OtherType, Typed
from topos.stablehlo.parser.shardings import DIRECTIONS, LEADING, SHARDED, STATED, opening
from topos.stablehlo.printer.writer import Form, Writer

__all__ = ["SHARDY_FORMS", "stated"]


def stated(operation: Operation, key: str) -> str:
    """Returns the text of the attribute `key` without what a pretty form leaves to be understood.

    It is empty where only the generic form can say the attribute.
    """
    match operation.attributes.get(key):
        case Opaque(text):
            before, after = opening(operation.name, key)
            whole = text.startswith(before) and text.endswith(after)
            return text[len(before) : len(text) - len(after)] if whole else ""
        case int(number) if key == "group_id" and type(number) is int:
            return str(number)
        case Typed(int(number), OtherType("i32")) if key == "allowed_direction":
            return DIRECTIONS[number] if 0 <= number < len(DIRECTIONS) else ""
    return ""


def _annotated(writer: Writer, operation: Operation) -> bool:
    if len(operation.operands) != 1 or operation.regions:
        return False
    leading, following = LEADING.get(operation.name), STATED.get(operation.name, ())
    parts = [operation.operands[0]]
    if leading is not None:
        parts.insert(0, stated(operation, leading))
    if operation.name in SHARDED:
        following = ("sharding",)
        parts.append(stated(operation, "sharding"))
    else:
        parts += _assigned(operation, following)
    if not all(parts):
        return False
    used = {leading, *following}
    rest = {key: value for key, value in operation.attributes.items() if key not in used}
    tail = f" {dictionary(rest)}" if rest else ""
    type = writer.type(operation)
    if operation.results and set(type.operands) != set(type.results):
        return False
    shown = ", ".join(map(str, type.results or type.operands))
    head = f"{results_of(operation)}{operation.name} {' '.join(parts)}"
    writer.line(f"{head}{tail} : {shown}")
    return True


def _assigned(operation: Operation, keys: tuple[str, ...]) -> list[str]:
    """Returns each `key=...`, which is empty where only the generic form can say it."""
    texts = {key: stated(operation, key) for key in keys if key in operation.attributes}
    return [f"{key}={text}" if text else "" for key, text in texts.items()]


def _manual(writer: Writer, operation: Operation) -> bool:
    named = operation.name == "sdy.named_computation"
    keys = STATED[operation.name]
    name, parts = operation.attributes.get("name"), _assigned(operation, keys)
    whole = type(name) is str if named else len(parts) == len(keys)
    if not whole or not all(parts) or len(operation.regions) != 1:
        return False
    (body,) = operation.regions
    arguments = body.blocks[0].arguments if body.blocks else ()
    used = {*keys, "name"} if named else {*keys}
    rest = {key: value for key, value in operation.attributes.items() if key not in used}
    tail = f" {dictionary(rest)}" if rest else ""
    called = f"<{quoted(str(name))}>" if named else ""
    head = f"{results_of(operation)}{operation.name}{called}({', '.join(operation.operands)})"
    writer.line(f"{' '.join([head, *parts])} ({parameters(arguments)}) {{")
    close = f"}}{tail} : {function_type(writer.type(operation))}"
    writer.region(body, close, labelled=False)
    return True


SHARDY_FORMS: Final[Mapping[str, Form]] = {
    **dict.fromkeys((*SHARDED, *STATED), _annotated),
    "sdy.manual_computation": _manual,
    "sdy.named_computation": _manual,
}
