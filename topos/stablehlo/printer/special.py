"""The pretty forms that hold regions, or whose parts stand in an order of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from topos.stablehlo.attribute_text import (
    dictionary,
    results_of,
)
from topos.stablehlo.ir import (
    Block,
    Operation,
    Region,
)
from topos.stablehlo.printer.shardings import SHARDY_FORMS
from topos.stablehlo.printer.writer import Form, Writer

__all__ = ["FORMS"]


def _return(writer: Writer, operation: Operation) -> bool:
    if operation.regions or operation.results:
        return False
    name = writer.name(operation)
    rest = f" {dictionary(operation.attributes)}" if operation.attributes else ""
    if not operation.operands:
        writer.line(f"{name}{rest}")
        return True
    types = ", ".join(map(str, writer.type(operation).operands))
    if operation.name in ("func.return", "sdy.return"):
        writer.line(f"{name}{rest} {', '.join(operation.operands)} : {types}")
    else:
        writer.line(f"{name} {', '.join(operation.operands)}{rest} : {types}")
    return True


def _barrier(writer: Writer, operation: Operation) -> bool:
    type = writer.type(operation)
    if type.operands != type.results or operation.regions:
        return False
    rest = f" {dictionary(operation.attributes)}" if operation.attributes else ""
    if not operation.operands:
        writer.line(f"{_head(operation)}{rest} ()")
        return True
    types = ", ".join(map(str, type.operands))
    writer.line(f"{_head(operation)}{rest} {', '.join(operation.operands)} : {types}")
    return True


def _while(writer: Writer, operation: Operation) -> bool:
    type = writer.type(operation)
    names = [_names(region) for region in operation.regions]
    if len(names) != 2 or type.operands != type.results:
        return False
    arguments = [_entry(region).arguments for region in operation.regions]
    if names[0] != names[1] or any(
        tuple(argument.type for argument in each) != type.operands or _attributed(each)
        for each in arguments
    ):
        return False
    pairs = zip(names[0], operation.operands, strict=True)
    carried = ", ".join(f"{name} = {operand}" for name, operand in pairs)
    types = f" : {', '.join(map(str, type.results))}" if type.results else ""
    rest = f" attributes {dictionary(operation.attributes)}" if operation.attributes else ""
    writer.line(f"{_head(operation)}({carried}){types}{rest}")
    condition, body = operation.regions
    writer.line("cond {")
    writer.region(condition, "} do {", labelled=False)
    writer.region(body, "}", labelled=False)
    return True


def _head(operation: Operation) -> str:
    return f"{results_of(operation)}{operation.name}"


def _entry(region: Region) -> Block:
    return region.blocks[0] if region.blocks else Block((), ())


def _names(region: Region) -> list[str]:
    return [argument.name for argument in _entry(region).arguments]


def _attributed(arguments: tuple[Any, ...]) -> bool:
    return any(argument.attributes for argument in arguments)


FORMS: Final[Mapping[str, Form]] = {
    **SHARDY_FORMS,
    "func.return": _return,
    "sdy.return": _return,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.return": _return,
    "stablehlo.while": _while,
}
