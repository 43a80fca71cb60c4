"""Building of programs: names become slots, operations kernels, regions programs of their own."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import numpy.typing as npt

from topos.errors import UnsupportedError, VerifyError
from topos.runtimes._stablehlo.captures import captured
from topos.runtimes._stablehlo.frame import Frame
from topos.runtimes._stablehlo.operations import OPERATIONS
from topos.runtimes._stablehlo.pointwise import moves_nothing, unchanged, works_pointwise
from topos.runtimes._stablehlo.program import Program
from topos.runtimes._stablehlo.site import Constant, Site
from topos.runtimes._stablehlo.syntax import (
    Block,
    Function,
    Module,
    Operation,
    Parameter,
    Region,
    Symbol,
    Type,
)
from topos.runtimes._stablehlo.types import held

__all__ = ["build"]

Array = npt.NDArray[Any]

_RETURNS = frozenset({"func.return", "stablehlo.return"})


def build(module: Module, exact: bool) -> Program:
    """Returns the program of `@main`, with every function that it calls built once.

    Raises `VerifyError` for a module that breaks a rule, `UnsupportedError` for what has no
    kernel here; both name the operation and its line.
    """
    functions: dict[str, Function] = {}
    for function in module.functions:
        if function.name in functions:
            raise VerifyError(f"@{function.name} is defined twice", function.line)
        functions[function.name] = function
    builder = _Builder(functions, exact)
    for function in module.functions:
        # What nothing runs need not be supported, but it must be right.
        with suppress(UnsupportedError):
            builder.program(function.name, function.line)
    if "main" not in functions:
        raise VerifyError("a module needs a function @main")
    return builder.program("main", functions["main"].line)


class _Builder:
    """The functions of a module, each built when it is first called."""

    def __init__(self, functions: dict[str, Function], exact: bool) -> None:
        self._functions = functions
        self._exact = exact
        self._built: dict[str, Program] = {}
        self._open: list[str] = []

    def program(self, name: str, line: int) -> Program:
        if name in self._built:
            return self._built[name]
        if name not in self._functions:
            raise VerifyError(f"func.call needs a function, got @{name}", line)
        if name in self._open:
            raise UnsupportedError(f"@{name} calls itself, which is not supported", line)
        self._open.append(name)
        try:
            self._built[name] = self._function(self._functions[name])
        finally:
            self._open.pop()
        return self._built[name]

    def _called(self, name: Symbol, operation: Operation) -> Program:
        return self.program(name, operation.line)

    def _function(self, function: Function) -> Program:
        if function.body is None:
            raise UnsupportedError(f"@{function.name} has no body", function.line)
        program = self._region(function.body, function.line)
        stated = tuple(held(result.type, function.line) for result in function.results)
        if program.results != stated:
            raise VerifyError(
                f"@{function.name} results in {_shown(stated)},"
                f" but returns {_shown(program.results)}",
                function.line,
            )
        return program

    def _region(
        self,
        region: Region,
        line: int,
        captures: tuple[Parameter, ...] = (),
        known: tuple[tuple[Parameter, Array], ...] = (),
    ) -> Program:
        """Returns the program of a region, whose captures follow its own arguments.

        The constants `known` outside are constants inside.
        """
        if len(region.blocks) != 1:
            raise UnsupportedError("a region of several blocks is not supported", line)
        (block,) = region.blocks
        end = _end(block, line)
        frame = Frame()
        for parameter in (*block.arguments, *captures):
            frame.define(parameter.name, held(parameter.type, line), line)
        frame.end_arguments()
        for parameter, array in known:
            frame.constants[frame.define(parameter.name, parameter.type, line)] = array
        elementwise = True
        for operation in block.operations[:-1]:
            elementwise = self._add(frame, operation) and elementwise
        outputs = tuple([frame.slot(name, end) for name in end.operands])
        returned = tuple(frame.types[slot] for slot in outputs)
        if end.operand_types is not None and end.operand_types != returned:
            raise VerifyError(
                f"{end.name} states {_shown(end.operand_types)}, got {_shown(returned)}",
                end.line,
            )
        return frame.program(outputs, elementwise)

    def _add(self, frame: Frame, operation: Operation) -> bool:
        """Adds one operation and returns whether it works element by element."""
        builder = OPERATIONS.get(operation.name)
        if builder is None and operation.name in _RETURNS:
            raise VerifyError(f"{operation.name} ends its block too early", operation.line)
        if builder is None:
            raise UnsupportedError(
                f"{operation.name} is not supported", operation.line, operation.column
            )
        inputs = [frame.slot(name, operation) for name in operation.operands]
        outside = _captures(frame, operation)
        captures = [slot for slot in outside if slot not in frame.constants]
        site = self._site(frame, operation, inputs, outside)
        kernel = builder(site)
        first = len(frame.types)
        for name, type in zip(operation.results, site.results, strict=True):
            frame.define(name, type, operation.line)
        if isinstance(kernel, Constant):
            frame.constants[first] = kernel.array
        else:
            kernel = unchanged if moves_nothing(site) else kernel
            frame.add(operation, kernel, (*inputs, *captures), first)
        return works_pointwise(site)

    def _site(
        self, frame: Frame, operation: Operation, inputs: list[int], outside: dict[int, str]
    ) -> Site:
        line = operation.line
        operands = cast(Any, tuple([frame.types[slot] for slot in inputs]))
        if operation.operand_types is not None and operation.operand_types != operands:
            raise VerifyError(
                f"{operation.name} states {_shown(operation.operand_types)},"
                f" got {_shown(operands)}",
                line,
            )
        results = cast(Any, tuple([held(type, line) for type in operation.result_types]))
        if len(results) != len(operation.results):
            raise VerifyError(
                f"{operation.name} names {len(operation.results)} results"
                f" and states {len(results)}",
                line,
            )
        named = {slot: Parameter(name, frame.types[slot], {}) for slot, name in outside.items()}
        captures = tuple([named[slot] for slot in named if slot not in frame.constants])
        known = tuple(
            [
                (parameter, frame.constants[slot])
                for slot, parameter in named.items()
                if slot in frame.constants
            ]
        )
        return Site(
            operation=operation,
            operands=operands,
            results=results,
            constants=tuple([frame.constants.get(slot) for slot in inputs]),
            regions=tuple(
                [self._region(region, line, captures, known) for region in operation.regions]
            ),
            captures=len(captures),
            function=self._called,
            exact=self._exact,
        )


def _captures(frame: Frame, operation: Operation) -> dict[int, str]:
    """Returns the slots that the regions of `operation` use from the frame, and their names."""
    names: dict[int, str] = {}
    for name in captured(operation.regions):
        # The first of several results goes by two names, of which this one defines both.
        if frame.holds(name) and (name.endswith("#0") or frame.slot(name, operation) not in names):
            names[frame.slot(name, operation)] = name
    return names


def _end(block: Block, line: int) -> Operation:
    if not block.operations or block.operations[-1].name not in _RETURNS:
        last = block.operations[-1].line if block.operations else line
        raise VerifyError("a block ends in a return", last)
    return block.operations[-1]


def _shown(types: tuple[Type, ...]) -> str:
    return f"({', '.join(map(str, types))})"
