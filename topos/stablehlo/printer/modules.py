"""Text of a whole module and of its functions."""

from __future__ import annotations

from topos.errors import UnsupportedError
from topos.stablehlo.attribute_text import (
    dictionary,
    parameters,
    produced,
    referred,
)
from topos.stablehlo.dialect.calling import Func
from topos.stablehlo.ir import Function, Module, Parameter
from topos.stablehlo.printer.writer import Writer

__all__ = ["printed"]


def printed(module: Module, *, generic: bool = False) -> str:
    """Returns the text of `module`, which reads back as the same tree.

    Every operation stands in its custom assembly where that can say it, and in its generic form
    elsewhere, or everywhere if `generic`. Locations are left out. Raises `UnsupportedError` for
    regions nested so deep that they could not be read back.
    """
    writer = Writer(generic)
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
        writer.operation(other)
    for function in module.functions:
        _function(writer, function)


def _function(writer: Writer, function: Function) -> None:
    attributes = dict(function.attributes)
    visibility = attributes.pop("sym_visibility", "")
    words = " ".join(
        [Func.operation_name, *([visibility] if visibility else []), referred(function.name)]
    )
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
