"""The printer: a syntax tree in, text out, in custom assembly where there is one."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from topos.errors import UnsupportedError
from topos.stablehlo.assembly import Head, Signature
from topos.stablehlo.attribute_text import (
    dictionary,
    function_type,
    parameters,
    produced,
    quoted,
    referred,
    results_of,
)
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import find
from topos.stablehlo.dialect.calling import Func
from topos.stablehlo.ir import (
    Block,
    Function,
    FunctionType,
    Module,
    Operation,
    OtherType,
    Parameter,
    Region,
    Type,
    result_names,
)

_INDENT: Final = "  "
# What a value is taken to be whose definition is missing, where the text leaves its type unsaid.
_UNKNOWN: Final = OtherType("none")


class Writer:
    """Lines of text and the types of the values that are defined so far."""

    def __init__(self, generic: bool = False) -> None:
        self.lines: list[str] = []
        self._is_generic = generic
        self._types: ChainMap[str, Type] = ChainMap()
        self._depth = 0

    def line(self, text: str) -> None:
        """Adds a line at the present indentation."""
        self.lines.append(f"{_INDENT * self._depth}{text}")

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Makes the indentation one deeper."""
        self._depth += 1
        yield
        self._depth -= 1

    def region(self, region: Region, close: str, labelled: bool = True) -> None:
        """Adds the blocks of a region and the line that closes it.

        The arguments of the entry are left out unless `labelled`.
        """
        self._types = self._types.new_child()
        for position, block in enumerate(region.blocks):
            self._open(block, position, labelled)
            # Regions nest deep, so this loop costs no call of its own.
            self._depth += 1
            for operation in block.operations:
                self.operation(operation)
            self._depth -= 1
        self._types = self._types.parents
        self.line(close)

    def operation(self, operation: Operation) -> None:
        """Adds an operation, in its custom form unless that cannot say it."""
        definition = None if self._is_generic or operation.successors else find(operation.name)
        if definition is None or not definition.write(self, operation):
            self._generic(operation)
        for name, type in zip(operation.results, operation.result_types, strict=False):
            self._define(name, type)

    def custom(self, definition: type[Definition], operation: Operation) -> bool:
        """Adds an operation as its definition's assembly says, or returns false where it cannot."""
        form = definition.form
        head = definition.head(operation) if form.stated and not operation.regions else None
        if head is None:
            return False
        self._line(operation, head, form.signature or definition.signature)
        return True

    def _define(self, name: str, type: Type) -> None:
        for each in result_names(name):
            self._types[each] = type

    def _open(self, block: Block, position: int, labelled: bool) -> None:
        """Defines the arguments of a block and adds the line of its label, where it needs one."""
        for argument in block.arguments:
            self._define(argument.name, argument.type)
        empty = not block.operations and not block.arguments
        if position or empty or (labelled and block.arguments):
            label = block.label or f"^bb{position}"
            arguments = f"({parameters(block.arguments)})" if block.arguments else ""
            self.line(f"{label}{arguments}:")

    def type(self, operation: Operation) -> FunctionType:
        """Returns the types of an operation's values, those unsaid from their definitions."""
        operands = operation.operand_types
        if operands is None:
            operands = tuple([self._types.get(name, _UNKNOWN) for name in operation.operands])
        return FunctionType(operands, operation.result_types)

    def name(self, operation: Operation) -> str:
        """Returns the name of an operation, without `func.` in the body of a function itself."""
        # The other scope is the one around every function.
        directly = len(self._types.maps) == 2
        return operation.name.removeprefix("func.") if directly else operation.name

    def _line(self, operation: Operation, head: Head, signature: Signature) -> None:
        type = self.type(operation)
        alone = operation.operand_types is None and len(type.results) == 1
        if alone and not operation.name.startswith("chlo."):
            # Where the text gave one type alone, it was enough; CHLO states all of them.
            text = str(type.results[0])
        else:
            text = signature(type)
        joined = head.text
        if head.rest:
            rest = dictionary(head.rest)
            joined = (f"{rest} {joined}" if head.rest_leads else f"{joined} {rest}").strip()
        spaced = " " if joined and (head.rest_leads or not joined.startswith("(")) else ""
        stated = f" : {text}" if text else ""
        name = f"{results_of(operation)}{self.name(operation)}"
        self.line(f"{name}{spaced}{joined}{stated}")

    def _generic(self, operation: Operation) -> None:
        uses = ", ".join(operation.operands)
        successors = f"[{', '.join(operation.successors)}]" if operation.successors else ""
        head = f"{results_of(operation)}{quoted(operation.name)}({uses}){successors}"
        rest = f" {dictionary(operation.attributes)}" if operation.attributes else ""
        tail = f"{rest} : {function_type(self.type(operation))}"
        if not operation.regions:
            self.line(f"{head}{tail}")
            return
        self.line(f"{head} ({{")
        *others, last = operation.regions
        for region in others:
            self.region(region, "}, {")
        self.region(last, f"}}){tail}")


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
        for other in module.others:
            writer.operation(other)
        for function in module.functions:
            _function(writer, function)
    writer.line("}")


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
