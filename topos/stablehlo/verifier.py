"""Verification: every type well-formed and every operation held to its definition."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, Final

import numpy.typing as npt

from topos.errors import UnsupportedError, VerifyError
from topos.stablehlo.dialect import definitions, find, has, names
from topos.stablehlo.dialect._shardings import KEY, fault_of, faults_of, meshes_of
from topos.stablehlo.dialect.calling import Func
from topos.stablehlo.ir import (
    Attributes,
    Block,
    Function,
    FunctionType,
    Module,
    Operation,
    OtherType,
    Region,
    Tensor,
    TupleType,
    Type,
)
from topos.stablehlo.meshes import Mesh
from topos.stablehlo.parser.spelling import foreign
from topos.stablehlo.scope import Scope
from topos.stablehlo.shapes import read_bounds, shown
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import EXISTING, is_element

_PART: Final = r"(?:tensor<(?:[^<>]|<[^<>]*>)*>|tuple<.*>|!stablehlo\.token)"
_OTHERS: Final = re.compile(
    rf"!stablehlo\.token|!stablehlo\.future<(?:{_PART}(?:,\s*{_PART})*)?>|memref<.*>|none",
    re.DOTALL,
)
_VECTOR: Final = re.compile(r"vector<(?:(?:[1-9][0-9]*|\[[1-9][0-9]*\])x)*(\w+)>")
Array = npt.NDArray[Any]
_OURS: Final = ("builtin.", "chlo.", "func.", "stablehlo.")
_SHARDY: Final = "sdy."
# The share of a name that is right; every name shares its dialect with many others.
_NEAR: Final = 0.85
_NOTHING: Final = FunctionType((), ())


def demand_wellformed(type: Type, line: int, column: int) -> None:
    """Refuses a type that no value has.

    Raises `VerifyError` for one that means nothing, `UnsupportedError` for one that is only not
    known here, such as a quantized element. Whether an operation takes a type is its own rule.
    """
    if isinstance(type, TupleType):
        for part in type.parts:
            demand_wellformed(part, line, column)
    elif isinstance(type, OtherType):
        _demand_other(type, line, column)
    else:
        _demand_element(type, type.element, line, column)
        if isinstance(type, Tensor) and type.encoding:
            _demand_encoding(type, line, column)


def parameter_fault(attributes: Attributes) -> str:
    """Returns what is wrong with the attributes of an argument or a result of a function, or `""`.

    MLIR takes only those there whose name begins with that of a dialect.
    """
    for key in attributes:
        if "." not in key:
            return f"takes attributes of a dialect, such as sdy.sharding, got {key!r}"
    return ""


def _demand_other(type: OtherType, line: int, column: int) -> None:
    if _OTHERS.fullmatch(type.text) or is_element(type.text):
        return
    vector = _VECTOR.fullmatch(type.text)
    if vector and is_element(vector[1]):
        return
    if type.text.startswith("!stablehlo."):
        raise VerifyError(f"no type is called {type}", line, column)
    raise UnsupportedError(f"type {type} is not supported", line, column)


def _demand_element(type: Type, element: str, line: int, column: int) -> None:
    if is_element(element):
        return
    if "!" in element or element.startswith(("tuple<", "vector<")):
        raise UnsupportedError(f"type {type} is not supported", line, column)
    raise VerifyError(f"{type} has no element called {element}; {EXISTING}", line, column)


def _demand_encoding(type: Tensor, line: int, column: int) -> None:
    bounds = read_bounds(type.encoding)
    if bounds is None:
        if "bounds" in type.encoding:
            raise VerifyError(f"{type} has bounds that are no integers", line, column)
        raise UnsupportedError(f"type {type} is not supported", line, column)
    if len(bounds) != len(type.shape):
        reason = f"{type} needs a bound for each of {len(type.shape)} axes, got {len(bounds)}"
        raise VerifyError(reason, line, column)
    for axis, (extent, bound) in enumerate(zip(type.shape, bounds, strict=True)):
        if extent is not None and bound is not None:
            raise VerifyError(f"{type} bounds its axis {axis}, which is static", line, column)


def verified_names() -> frozenset[str]:
    """Returns the name of every operation that a module may hold and pass."""
    defined = [name for name, each in definitions().items() if not each.is_refused]
    return frozenset(defined)


def verify(module: Module) -> None:
    """Checks every function of `module`, in order.

    Raises `VerifyError` at the first operation that breaks a rule, with its place, and
    `UnsupportedError` for an operation of a dialect that is not read or a type that is not known.
    """
    meshes = meshes_of(module.others)
    functions: dict[str, Function] = {}
    for function in module.functions:
        if function.name in functions or function.name in meshes:
            raise VerifyError(f"@{function.name} is defined twice", *function.place)
        functions[function.name] = function
    walk = _Walk(functions, meshes)
    for function in module.functions:
        walk.function(function)


class _Walk:
    """The operations of a module in order, inner regions before the operation they are of."""

    def __init__(self, functions: Mapping[str, Function], meshes: Mapping[str, Mesh]) -> None:
        self._functions = functions
        self._meshes = meshes
        # Few types are stated many times; each is looked at once.
        self._wellformed: set[Type] = set()

    def function(self, function: Function) -> None:
        place = function.place
        for parameter in (*function.arguments, *function.results):
            self._demand_wellformed(parameter.type, place)
            fault = parameter_fault(parameter.attributes)
            if fault:
                raise VerifyError(f"@{function.name} {fault}", *place)
            if KEY in parameter.attributes:
                fault = fault_of(parameter.attributes[KEY], parameter.type, self._meshes)
                if fault:
                    raise VerifyError(f"@{function.name} {fault}", *place)
        if function.body is None:
            return
        body = self._region(function.body, Scope(), place)
        if body.operands != tuple([parameter.type for parameter in function.arguments]):
            raise VerifyError(f"@{function.name} and its block differ in their arguments", *place)
        stated = tuple([parameter.type for parameter in function.results])
        if body.results != stated:
            end = _end(function.body.blocks[0], place)
            returned = f"but returns {shown(body.results)}"
            reason = f"@{function.name} results in {shown(stated)}, {returned}"
            raise VerifyError(reason, *end.place)

    def _region(self, region: Region, scope: Scope, place: tuple[int, int]) -> FunctionType:
        """Returns the types that `region` takes and returns."""
        if not region.blocks:
            return _NOTHING
        if len(region.blocks) > 1:
            raise UnsupportedError("a region of several blocks is not supported", *place)
        (block,) = region.blocks
        scope.enter()
        for parameter in block.arguments:
            self._demand_wellformed(parameter.type, place)
            scope.define(parameter.name, parameter.type, place)
        end = _end(block, place)
        for operation in block.operations[:-1]:
            self._operation(operation, scope)
        returned = tuple([scope.type(name, end) for name in end.operands])
        _demand_stated(end, returned)
        scope.leave()
        return FunctionType(tuple([each.type for each in block.arguments]), returned)

    def _operation(self, operation: Operation, scope: Scope) -> None:
        definition = find(operation.name)
        if definition is None or definition.is_refused:
            raise _unknown(operation)
        place = operation.place
        operands = tuple([scope.type(name, operation) for name in operation.operands])
        _demand_stated(operation, operands)
        results = operation.result_types
        for type in results:
            self._demand_wellformed(type, place)
        if len(results) != len(operation.results):
            names = f"names {len(operation.results)} results and states {len(results)}"
            raise VerifyError(f"{operation.name} {names}", *place)
        if operation.regions and not definition.has_regions:
            raise VerifyError(f"{operation.name} takes no region", *place)
        bodies: list[FunctionType] = []
        for region in operation.regions:
            bodies.append(self._inner(region, scope, operation, definition.terminator))
        known = scope.constants(operation)
        definition(
            operation, operands, results, known, tuple(bodies), self._functions, self._meshes
        ).verify()
        if KEY in operation.attributes:
            # What results in nothing may have a sharding all the same.
            fault = faults_of(operation.attributes[KEY], results or (None,), self._meshes)
            if fault:
                raise VerifyError(f"{operation.name} {fault}", *place)
        for name, type in zip(operation.results, results, strict=True):
            scope.define(name, type, place)
        if definition.is_constant:
            scope.define_constant(operation)

    def _inner(
        self, region: Region, scope: Scope, operation: Operation, terminator: str
    ) -> FunctionType:
        place = operation.place
        types = self._region(region, scope, place)
        for block in region.blocks:
            end = _end(block, place)
            if end.name == Func.terminator:
                raise VerifyError(f"{end.name} ends a function only", *end.place)
            if end.name != terminator:
                reason = f"a block of {operation.name} does not end in {end.name}"
                raise VerifyError(reason, *end.place)
        return types

    def _demand_wellformed(self, type: Type, place: tuple[int, int]) -> None:
        if type not in self._wellformed:
            demand_wellformed(type, *place)
            self._wellformed.add(type)


def _unknown(operation: Operation) -> Exception:
    place = operation.place
    if has(operation.name, Trait.TERMINATOR):
        return VerifyError(f"{operation.name} ends its block too early", *place)
    if operation.name.startswith(_SHARDY) or find(operation.name) is not None:
        return UnsupportedError(f"{operation.name} is not supported", *place)
    if not operation.name.startswith(_OURS):
        return UnsupportedError(foreign(operation.name), *place)
    near = difflib.get_close_matches(operation.name, names(), n=1, cutoff=_NEAR)
    hint = f"; did you mean {near[0]}?" if near else ""
    return VerifyError(f"no operation is called {operation.name}{hint}", *place)


def _end(block: Block, place: tuple[int, int]) -> Operation:
    if not block.operations:
        raise VerifyError("a block ends in a return", *place)
    last = block.operations[-1]
    if not has(last.name, Trait.TERMINATOR):
        raise VerifyError("a block ends in a return", *last.place)
    return last


def _demand_stated(operation: Operation, operands: tuple[Type, ...]) -> None:
    if operation.operand_types is not None and operation.operand_types != operands:
        raise VerifyError(
            f"{operation.name} states {shown(operation.operand_types)}, got {shown(operands)}",
            *operation.place,
        )
