"""Text of a whole module and of its functions."""

from __future__ import annotations

from topos.errors import UnsupportedError
from topos.stablehlo.attribute_text import (
    dictionary,
    parameters,
    produced,
    referred,
)
from topos.stablehlo.ir import Function, Module, Operation, Parameter
from topos.stablehlo.printer.shardings import stated
from topos.stablehlo.printer.special import FORMS
from topos.stablehlo.printer.writer import Writer

__all__ = ["printed"]


def printed(module: Module, *, generic: bool = False) -> str:
    """Returns the text of `module`, which reads back as the same tree.

    Every operation stands in its custom assembly where that can say it, and in its generic form
    elsewhere, or everywhere if `generic`. Locations are left out. Raises `UnsupportedError` for
    regions nested so deep that they could not be read back.
    """
    writer = Writer(FORMS, generic)
    try:
        _module(writer, module)
    except RecursionError:
        raise UnsupportedError("regions, types or attributes nested this deep") from None
    return "\n".join([*writer.lines, ""])


def _module(writer: Writer, module: Module) -> None:
    name = f" {referred(module.name)}" if module.name else ""
    attributes = f" attributes {dictionary(module.attributes)}" if module.attributes else ""
    writer.line(f"module{name}{attributes} {{")
    with writer.inside():
        _statements(writer, module)
    writer.line("}")


def _statements(writer: Writer, module: Module) -> None:
    for other in module.others:
        _declaration(writer, other)
    for function in module.functions:
        _function(writer, function)


def _declaration(writer: Writer, operation: Operation) -> None:
    rest = dict(operation.attributes)
    name, mesh = rest.pop("sym_name", None), stated(operation, "mesh")
    rest.pop("mesh", None)
    if not isinstance(name, str) or not mesh:
        writer.operation(operation)
        return
    tail = f" {dictionary(rest)}" if rest else ""
    writer.line(f"{operation.name} {referred(name)} = {mesh}{tail}")


def _function(writer: Writer, function: Function) -> None:
    attributes = dict(function.attributes)
    visibility = attributes.pop("sym_visibility", "")
    words = " ".join(["func.func", *([visibility] if visibility else []), referred(function.name)])
    results = f" -> {_results(function.results)}" if function.results else ""
    stated = f" attributes {dictionary(attributes)}" if attributes else ""
    line = f"{words}({parameters(function.arguments)}){results}{stated}"
    if function.body is None:
        writer.line(line)
        return
    writer.line(f"{line} {{")
    writer.region(function.body, "}", labelled=False)


def _results(results: tuple[Parameter, ...]) -> str:
    if not any(result.attributes for result in results):
        return produced(tuple(result.type for result in results))
    return f"({parameters(results)})"
