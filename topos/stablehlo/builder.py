"""Writing a module from Python: one call an operation, its result types inferred at the call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from topos.errors import ArgumentError, ElementError, ToposError, UnsupportedError, VerifyError
from topos.stablehlo.definition import Definition
from topos.stablehlo.dense import dense_of
from topos.stablehlo.dialect import calling, find
from topos.stablehlo.dialect.constants import Constant
from topos.stablehlo.given import attributes_of_the_tree, element_name, type_of
from topos.stablehlo.ir import (
    Attributes,
    Block,
    Function,
    FunctionType,
    Operation,
    Parameter,
    Region,
    Symbol,
    Type,
)
from topos.stablehlo.module import Module
from topos.stablehlo.parser.stream import DEEPEST
from topos.stablehlo.readable import demand_symbol, readable
from topos.stablehlo.values import (
    Body,
    OpenBlock,
    OpenFunction,
    Value,
    alone,
    block_types,
    demand_callable,
    result_types,
)
from topos.stablehlo.verifier import parameter_fault

VISIBILITIES: Final = ("public", "private", "nested")
# A number alone is the name of a result.
_NAME: Final = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)

_READ: Final = 4096
# In generic form a region stands in two brackets, and what the deepest holds has some of its own.
_DEEPEST: Final = DEEPEST // 2 - 8


class Builder:
    """A StableHLO module on its way; `main` is written into unless another function is open.

    Every call checks its operation as the verifier does and raises there: `VerifyError` with the
    reason where operands do not fit, `ArgumentError` where the call itself is no operation.
    """

    def __init__(self, name: str = "") -> None:
        demand_symbol("a module's name", name)
        self._name = name
        self._functions: dict[str, OpenFunction] = {}
        self._written: dict[str, Function] = {}
        self._blocks: list[OpenBlock] = []
        self._open: list[OpenFunction] = []
        self._count = 0
        self._enter("main", "public")

    def argument(
        self, type: Any, element: str = "", *, name: str = "", attributes: Attributes | None = None
    ) -> Value:
        """Adds an argument to the function that is open.

        `type` is a type, its text, a shape with the element beside it, or an array like it.
        """
        if not self._open:
            raise ArgumentError("every function has returned: none is open to take an argument")
        function, stated = self._open[-1], type_of(type, element)
        if self._blocks[-1] is not function.block:
            raise ArgumentError("a region takes what its operation gives it: no argument is added")
        taken = {argument.name for argument in function.arguments}
        number = len(taken)
        while f"%arg{number}" in taken:
            number += 1
        name = f"arg{number}" if isinstance(name, str) and not name else name
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArgumentError(f"a name is a letter, then letters, digits and _-., got {name!r}")
        if f"%{name}" in taken:
            raise ArgumentError(f"@{function.name} has an argument called {name} already")
        what = f"@{function.name}'s argument {name}"
        given = readable(what, _mapping(what, attributes))
        fault = parameter_fault(given)
        if fault:
            raise ArgumentError(f"{what} {fault}")
        value = self._argument(stated, name)
        function.arguments.append(Parameter(value.name, stated, given))
        return value

    def constant(self, value: Any, element: str = "") -> Value:
        """Returns a constant of the elements of a number or an array.

        `element` is the element's name where numpy's dtype does not tell it: Python's integers
        are i64, its floating-point numbers f64.
        """
        try:
            array = np.asarray(value)
            dense = dense_of(array, element_name(element or array.dtype))
        except ToposError:
            raise
        except (OverflowError, ValueError) as error:
            raise ElementError(f"no constant is made of {value!r}: {error}") from None
        (made,) = self.add(
            Constant.operation_name, attributes={"value": dense}, results=[dense.type]
        )
        if array.size <= _READ and array.dtype.kind in "iu":
            made.array = array
        return made

    def returns(self, *values: Value) -> None:
        """Ends the function that is open: these are its results."""
        if not self._open:
            raise ArgumentError("every function has returned")
        function = self._open[-1]
        if self._blocks[-1] is not function.block:
            raise ArgumentError("a region ends with what its function returns, not by returns()")
        kinds, end = self._ending(calling.Return.operation_name, values)
        function.block.operations.append(end)
        self._open.pop()
        self._blocks.pop().open = False
        results = tuple([Parameter("", kind, {}) for kind in kinds])
        self._written[function.name] = function.finished(results)

    @contextmanager
    def function(self, name: str, *, visibility: str = "private") -> Iterator[Builder]:
        """Opens another function, which `returns` closes; `func.call` calls it by its name."""
        demand_symbol("a function's name", name)
        if name in self._functions:
            raise ArgumentError(f"a function needs a name of its own, got {name!r}")
        if not isinstance(visibility, str) or visibility not in VISIBILITIES:
            raise ArgumentError(f"a function is {', '.join(VISIBILITIES)}, got {visibility!r}")
        self._enter(name, visibility)
        function, depth = self._open[-1], len(self._blocks) - 1
        try:
            yield self
        except BaseException:
            # What was begun is gone, so that the next call stands where this one did.
            if function in self._open:
                del self._open[self._open.index(function) :], self._blocks[depth:]
            function.block.open = False
            self._functions.pop(name, None)
            self._written.pop(name, None)
            raise
        if function.block.open:
            raise ArgumentError(f"@{name} needs its results: call returns(...) before it ends")

    def call(self, callee: str, *operands: Value) -> Value | tuple[Value, ...]:
        """Calls a function of this module that has returned."""
        function = self._written.get(callee) if isinstance(callee, str) else None
        if function is None:
            raise ArgumentError(f"no function called {callee!r} has been written")
        attributes = {"callee": Symbol(callee)}
        results = [result.type for result in function.results]
        return alone(
            self.add(calling.Call.operation_name, *operands, attributes=attributes, results=results)
        )

    def module(self) -> Module:
        """Returns the module, verified; every function must have returned."""
        for function in self._functions.values():
            if function.block.open:
                raise ArgumentError(f"@{function.name} needs its results: call returns(...) first")
        functions = tuple([self._written[name] for name in self._functions])
        return Module(self._name, {}, functions).verify()

    def add(
        self,
        name: str,
        *operands: Value,
        regions: Sequence[Body] = (),
        attributes: Attributes | None = None,
        results: Sequence[Any] = (),
    ) -> tuple[Value, ...]:
        """Adds the operation called `name` and returns its results.

        `attributes` are those of the tree; `results` the types that nothing else tells. The
        functions of `dialect` do the same with Python values.
        """
        definition = find(name) if isinstance(name, str) else None
        if definition is None:
            raise ArgumentError(f"no operation is called {name!r}")
        if not isinstance(regions, (list, tuple)):
            raise ArgumentError(f"{name} takes a list of functions as regions, got {regions!r}")
        if definition.is_refused:
            raise ArgumentError(f"{name} is not written by a call: a function or region returns")
        if not self._blocks:
            raise ArgumentError(f"{name} stands in no function: every one has returned")
        for operand in operands:
            self._demand_own(operand)
        stated = _types_of(name, results)
        given = attributes_of_the_tree(name, _mapping(name, attributes))
        kinds = tuple([operand.type for operand in operands])
        uses = tuple([operand.name for operand in operands])
        operation = Operation(name, (), uses, given, (), kinds, stated, 0, 0)
        view = self._view(definition, operation, operands, stated, ())
        bodies = self._bodies(view, regions)
        operation = operation._replace(regions=tuple([region for region, _ in bodies]))
        signatures = tuple([signature for _, signature in bodies])
        made = result_types(self._view(definition, operation, operands, stated, signatures))
        names = self._names(len(made))
        operation = operation._replace(results=names, result_types=made)
        self._view(definition, operation, operands, made, signatures).verify()
        block = self._blocks[-1]
        block.operations.append(operation)
        return tuple([Value(self, block, *each) for each in zip(names, made, strict=True)])

    def _view(
        self,
        definition: type[Definition],
        operation: Operation,
        operands: Sequence[Value],
        results: tuple[Type, ...],
        bodies: tuple[FunctionType, ...],
    ) -> Definition:
        known = tuple([operand.array for operand in operands])
        kinds = tuple([operand.type for operand in operands])
        return definition(operation, kinds, results, known, bodies, self._written)

    def _bodies(
        self, view: Definition, regions: Sequence[Body]
    ) -> list[tuple[Region, FunctionType]]:
        # A loop, for bodies nest deep and each level costs as few calls as it can.
        written: list[tuple[Region, FunctionType]] = []
        for body, types in zip(regions, block_types(view, len(regions)), strict=True):
            try:
                written.append(self._region(body, types, view.terminator))
            except VerifyError as error:
                note = view.body_note()
                if not note:
                    raise
                raise VerifyError(f"{error.reason}; {note}") from error
        return written

    def _region(
        self, body: Body, types: tuple[Type, ...], terminator: str
    ) -> tuple[Region, FunctionType]:
        """Returns the region that `body` writes, and the types that it takes and returns."""
        block = OpenBlock()
        if len(self._blocks) - self._blocks.index(self._open[-1].block) > _DEEPEST:
            reason = f"regions nested this deep, more than {_DEEPEST} in one another"
            raise UnsupportedError(reason)
        self._blocks.append(block)
        try:
            arguments = [self._argument(type, "") for type in types]
            demand_callable(body, len(arguments))
            returned = body(*arguments)
            values: list[Any] = [*returned] if isinstance(returned, (list, tuple)) else [returned]
            kinds, end = self._ending(terminator, values)
        finally:
            self._blocks.remove(block)
            block.open = False
        parameters = tuple([Parameter(each.name, each.type, {}) for each in arguments])
        return Region((Block(parameters, (*block.operations, end)),)), FunctionType(types, kinds)

    def _argument(self, type: Type, name: str) -> Value:
        return Value(self, self._blocks[-1], f"%{name}" if name else self._names(1)[0], type)

    def _names(self, count: int) -> tuple[str, ...]:
        """Returns names for the results of an operation, of which several share one."""
        self._count += 1
        name = f"%{self._count - 1}"
        return (name,) if count == 1 else tuple([f"{name}#{index}" for index in range(count)])

    def _demand_own(self, value: Any) -> None:
        if not isinstance(value, Value):
            raise ArgumentError(f"an operand is a Value of this builder, got {value!r}")
        if value.builder is not self:
            raise ArgumentError(f"{value.name} is a value of another builder")
        function = self._open[-1]
        if value.block not in self._blocks[self._blocks.index(function.block) :]:
            where = (
                "another function" if value.block.open else "a region or function that has ended"
            )
            raise ArgumentError(f"{value.name} was made in {where}")

    def _enter(self, name: str, visibility: str) -> None:
        function = OpenFunction(name, visibility, [], OpenBlock())
        self._functions[name] = function
        self._open.append(function)
        self._blocks.append(function.block)

    def _ending(self, name: str, values: Sequence[Value]) -> tuple[tuple[Type, ...], Operation]:
        for value in values:
            self._demand_own(value)
        kinds = tuple([value.type for value in values])
        uses = tuple([value.name for value in values])
        return kinds, Operation(name, (), uses, {}, (), kinds, (), 0, 0)


def _types_of(name: str, results: Any) -> tuple[Type, ...]:
    if not isinstance(results, (list, tuple)):
        raise ArgumentError(f"{name} takes a list of types as results, got {results!r}")
    return tuple(map(type_of, results))


def _mapping(what: str, attributes: Any) -> Attributes:
    if attributes is not None and not isinstance(attributes, Mapping):
        raise ArgumentError(f"{what} takes a dictionary as attributes, got {attributes!r}")
    return attributes or {}
