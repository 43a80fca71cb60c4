"""Verification: every operation of a module held to its rule, before anything is built."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy.typing as npt

from topos.errors import UnsupportedError, VerifyError
from topos.runtimes._stablehlo.claim import Claim
from topos.runtimes._stablehlo.dense import decoded
from topos.runtimes._stablehlo.rules import RULES
from topos.runtimes._stablehlo.syntax import (
    Block,
    Dense,
    Function,
    FunctionType,
    Module,
    Operation,
    Parameter,
    Region,
    Tensor,
    Type,
)
from topos.runtimes._stablehlo.wellformed import demand_wellformed

__all__ = ["verify"]

Array = npt.NDArray[Any]

TERMINATORS: Final = frozenset({"func.return", "stablehlo.return"})
_OURS: Final = ("builtin.", "chlo.", "func.", "stablehlo.")
# A constant of more elements than this is no shape, padding or index that a rule would read.
_READ: Final = 4096


def verify(module: Module) -> None:
    """Checks every function of `module`, in order.

    Raises `VerifyError` at the first operation that breaks a rule, with its place, and
    `UnsupportedError` for an operation of a dialect that is not read or a type that is not known.
    """
    functions: dict[str, Function] = {}
    for function in module.functions:
        if function.name in functions:
            raise VerifyError(f"@{function.name} is defined twice", function.line, function.column)
        functions[function.name] = function
    for function in module.functions:
        _function(function, functions)


def _function(function: Function, functions: Mapping[str, Function]) -> None:
    place = (function.line, function.column)
    for parameter in (*function.arguments, *function.results):
        demand_wellformed(parameter.type, *place)
    if function.body is None:
        return
    walk = _Walk(functions)
    arguments = tuple(parameter.type for parameter in function.arguments)
    stated = tuple(parameter.type for parameter in function.results)
    body = walk.region(function.body, None, place)
    if body.operands != arguments:
        raise VerifyError(f"@{function.name} and its block differ in their arguments", *place)
    if body.results != stated:
        raise VerifyError(
            f"@{function.name} results in {_shown(stated)}, but returns {_shown(body.results)}",
            *place,
        )


class _Scope:
    """The values of a block and of those around it: their types, and which are constants."""

    def __init__(self, outer: _Scope | None) -> None:
        self._types: dict[str, Type] = {}
        self._constants: dict[str, Dense] = {}
        self._outer = outer

    def define(self, name: str, type: Type, line: int, column: int) -> None:
        if not name:
            return
        if name in self._types:
            raise VerifyError(f"{name} is defined twice", line, column)
        self._types[name] = type
        if name.endswith("#0"):
            self._types[name[:-2]] = type

    def define_constant(self, name: str, value: Dense) -> None:
        self._constants[name] = value

    def type(self, name: str, operation: Operation) -> Type:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope._types:
                return scope._types[name]
            scope = scope._outer
        place = (operation.line, operation.column)
        raise VerifyError(f"{operation.name} uses {name}, which is not defined", *place)

    def constant(self, name: str) -> Array | None:
        """Returns a small integer constant, such as a shape that an operand states."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope._types:
                value = scope._constants.get(name)
                return None if value is None else decoded(value)
            scope = scope._outer
        return None


class _Walk:
    """The operations of one function in order, inner regions before the operation they are of."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions

    def region(self, region: Region, outer: _Scope | None, place: tuple[int, int]) -> FunctionType:
        """Returns the types that `region` takes and returns."""
        if not region.blocks:
            return FunctionType((), ())
        if len(region.blocks) > 1:
            raise UnsupportedError("a region of several blocks is not supported", *place)
        (block,) = region.blocks
        scope = _Scope(outer)
        for parameter in block.arguments:
            demand_wellformed(parameter.type, *place)
            scope.define(parameter.name, parameter.type, *place)
        end = _end(block, place)
        for operation in block.operations[:-1]:
            self._operation(operation, scope)
        returned = tuple([scope.type(name, end) for name in end.operands])
        _demand_stated(end, returned)
        return FunctionType(_types(block.arguments), returned)

    def _operation(self, operation: Operation, scope: _Scope) -> None:
        place = (operation.line, operation.column)
        rule = RULES.get(operation.name)
        if rule is None:
            raise _unknown(operation)
        operands = tuple([scope.type(name, operation) for name in operation.operands])
        _demand_stated(operation, operands)
        results = operation.result_types
        for type in results:
            demand_wellformed(type, *place)
        if len(results) != len(operation.results):
            names = f"names {len(operation.results)} results and states {len(results)}"
            raise VerifyError(f"{operation.name} {names}", *place)
        bodies = tuple([self.region(region, scope, place) for region in operation.regions])
        constants = tuple([scope.constant(name) for name in operation.operands])
        rule(Claim(operation, operands, results, constants, bodies, self._functions))
        for name, type in zip(operation.results, results, strict=True):
            scope.define(name, type, *place)
        value = operation.attributes.get("value")
        if operation.name == "stablehlo.constant" and isinstance(value, Dense) and _readable(value):
            scope.define_constant(operation.results[0], value)


def _readable(value: Dense) -> bool:
    if not isinstance(value.type, Tensor):
        return False
    size = 1
    for extent in value.type.shape:
        size *= extent or 0
    return size <= _READ and value.type.element in ("i64", "i32", "ui32", "ui64", "index")


def _unknown(operation: Operation) -> Exception:
    place = (operation.line, operation.column)
    if operation.name in TERMINATORS:
        return VerifyError(f"{operation.name} ends its block too early", *place)
    if not operation.name.startswith(_OURS):
        return UnsupportedError(f"{operation.name} is of a dialect that is not read", *place)
    near = difflib.get_close_matches(operation.name, RULES, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return VerifyError(f"no operation is called {operation.name}{hint}", *place)


def _end(block: Block, place: tuple[int, int]) -> Operation:
    if not block.operations:
        raise VerifyError("a block ends in a return", *place)
    last = block.operations[-1]
    if last.name not in TERMINATORS:
        raise VerifyError("a block ends in a return", last.line, last.column)
    return last


def _demand_stated(operation: Operation, operands: tuple[Type, ...]) -> None:
    if operation.operand_types is not None and operation.operand_types != operands:
        raise VerifyError(
            f"{operation.name} states {_shown(operation.operand_types)}, got {_shown(operands)}",
            operation.line,
            operation.column,
        )


def _types(parameters: Iterable[Parameter]) -> tuple[Type, ...]:
    return tuple(parameter.type for parameter in parameters)


def _shown(types: tuple[Type, ...]) -> str:
    return f"({', '.join(map(str, types))})"
