"""A module as data: read, verified, walked, rewritten, cut and counted without an MLIR build."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Self

from topos.errors import ArgumentError, SymbolError
from topos.stablehlo.calls import called_first
from topos.stablehlo.captures import captured
from topos.stablehlo.cost import CostAnalysis, cost_analysis
from topos.stablehlo.dialect.calling import Return
from topos.stablehlo.forms import ModuleLike, text_of
from topos.stablehlo.given_attributes import with_attributes_of_the_tree
from topos.stablehlo.given_types import type_of
from topos.stablehlo.ir import (
    Block,
    Function,
    Operation,
    Parameter,
    Region,
    Tensor,
    Type,
    result_names,
)
from topos.stablehlo.ir import Module as Tree
from topos.stablehlo.printer import printed
from topos.stablehlo.read import parsed, told_of
from topos.stablehlo.specialize import specialized
from topos.stablehlo.verifier import verify

__all__ = ["Module", "parse"]

Rewrite = Callable[[Operation], "Operation | Sequence[Operation] | None"]


class Module(Tree):
    """The functions of a StableHLO module, as tuples of tuples; nothing here changes in place.

    `str(module)` is its text, which reads back as the same tree.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return printed(self)

    def __repr__(self) -> str:
        count = sum(1 for _ in self.walk())
        functions = ", ".join(f"@{function.name}" for function in self.functions)
        return f"Module({functions or 'no functions'}; {count} operations)"

    def text(self, *, generic: bool = False) -> str:
        """Returns the text of the module, in custom assembly or every operation in generic form."""
        return printed(self, generic=generic)

    def verify(self) -> Self:
        """Returns this module where every operation keeps its rules.

        Raises `VerifyError` at the first that does not, `UnsupportedError` at what is known by name
        only; both tell the line, and show it where `str(module)` is the text.
        """
        with told_of(""):
            verify(self)
        return self

    def cost(self) -> CostAnalysis:
        """Returns what a run of `@main` executes: operations, flops, elements, a loop counted once.

        Raises `VerifyError` where there is no `@main`.
        """
        return cost_analysis(self)

    def specialize(self, argument_types: Sequence[Any]) -> Self:
        """Returns this module for its arguments' static types, with every `?` made static.

        A type is a `Tensor`, its text, or an array like the argument. Raises `ArgumentError` where
        `@main` does not take such types or an assertion of the module fails, with its own message,
        and `UnsupportedError` where the types of the arguments do not tell those of all values.
        """
        if not isinstance(argument_types, (list, tuple)):
            raise ArgumentError(f"a list has a type for each argument, got {argument_types!r}")
        types = [type_of(each) for each in argument_types]
        for position, each in enumerate(types):
            if isinstance(each, Tensor) and None in each.shape:
                raise ArgumentError(f"argument {position} still has an open extent in {each}")
        if not all(isinstance(each, Tensor) for each in types):
            raise ArgumentError(f"the types of arguments are tensors, got {types}")
        verified = self.verify()
        with told_of(""):
            return specialized(verified, [each for each in types if isinstance(each, Tensor)])

    def function(self, name: str = "main") -> Function:
        """Returns a function; raises `SymbolError` where there is none of that name."""
        for function in self.functions:
            if function.name == name:
                return function
        names = ", ".join(f"@{function.name}" for function in self.functions) or "none"
        raise SymbolError(f"the module has no function @{name}; its functions: {names}")

    def walk(self) -> Iterator[Operation]:
        """Yields every operation of every function in order, before those of its regions."""
        for function in self.functions:
            if function.body is not None:
                yield from _walked(function.body)

    def replace(self, rewrite: Rewrite) -> Self:
        """Returns the module with each operation replaced by what `rewrite` returns for it.

        It returns `None` to keep the operation, another one, or a list of operations that stand in
        its place; together they must define the names of its results. Operations inside regions
        are replaced before those that hold them.
        """
        functions = [
            function
            if function.body is None
            else function._replace(body=_rewritten(function.body, rewrite))
            for function in self.functions
        ]
        return self._replace(functions=tuple(functions))

    def slice(
        self, results: Sequence[str], inputs: Sequence[str] = (), *, function: str = "main"
    ) -> Self:
        """Returns the module that computes the values `results` of a function from `inputs`.

        Values are named as in the text, such as `"%3"`. Its `@main` takes the inputs in the order
        given, then those of the function's own arguments that are needed besides; an input `%r#1`
        is called `%r_1`, and `%0#1` is called `%v0_1`. It holds the operations that
        lead to the results, whole with their regions, and the functions that these call. Raises
        `SymbolError` where the function's outermost block defines no such value.
        """
        if not all(isinstance(each, (list, tuple)) for each in (results, inputs)):
            raise ArgumentError('results and inputs are lists of names, such as ["%0"]')
        source = self.function(function)
        block = _body_of(source)
        types = {argument.name: argument.type for argument in block.arguments}
        types.update(_defined(block.operations))
        # The first of several results also goes by the name that they share.
        results = [_own_name(name, types) for name in results]
        inputs = [*dict.fromkeys([_own_name(name, types) for name in inputs])]
        for name in (*results, *inputs):
            if name not in types:
                raise SymbolError(f"@{function} defines no value {name} outside of regions")
        kept, taken = _needed(block, results, inputs)
        inside = [each for region in _regions(kept) for each in _names_in(region)]
        names = _argument_names(taken, {*types, *inside})
        arguments = tuple([Parameter(names.get(name, name), types[name], {}) for name in taken])
        kinds = tuple([types[name] for name in results])
        end = Operation(Return.operation_name, (), tuple(results), {}, (), kinds, (), 0, 0)
        operations = tuple([_renamed(each, names) for each in (*kept, end)])
        body = Region((Block(arguments, operations),))
        outcomes = tuple([Parameter("", kind, {}) for kind in kinds])
        main = Function("main", arguments, outcomes, {}, body, source.line, source.column)
        # No function is called by the empty name, under which the slice stands for this search.
        functions = {each.name: each for each in self.functions} | {"": main}
        reached = {*called_first(functions, [""])}
        if "main" in reached:
            raise ArgumentError(f"a slice of @{function} cannot hold the call of @main in it")
        called = [each for each in self.functions if each.name in reached]
        return self._replace(functions=(main, *called))


def parse(module: ModuleLike) -> Module:
    """Returns a module in any form that `text_of` takes as a tree, not verified yet.

    Raises `ParseError` with the line, the column and a caret where its text is no module, and what
    `text_of` raises; the text of a binary form is the one that jaxlib prints.
    """
    return Module(*(module if isinstance(module, Tree) else parsed(text_of(module))))


def _walked(region: Region) -> Iterator[Operation]:
    waiting = [iter([operation for block in region.blocks for operation in block.operations])]
    while waiting:
        operation = next(waiting[-1], None)
        if operation is None:
            waiting.pop()
            continue
        yield operation
        inner = [each for part in operation.regions for block in part.blocks for each in block[1]]
        if inner:
            waiting.append(iter(inner))


def _rewritten(region: Region, rewrite: Rewrite) -> Region:
    blocks: list[Block] = []
    for block in region.blocks:
        operations: list[Operation] = []
        for operation in block.operations:
            inner = operation
            if operation.regions:
                regions = tuple([_rewritten(each, rewrite) for each in operation.regions])
                inner = operation._replace(regions=regions)
            outcome = rewrite(inner)
            if outcome is None:
                operations.append(inner)
                continue
            operations += map(_rewritten_as, _listed(outcome))
        blocks.append(block._replace(operations=tuple(operations)))
    return Region(tuple(blocks))


def _listed(outcome: Any) -> Sequence[Any]:
    # An operation is a tuple itself.
    single = isinstance(outcome, Operation) or not isinstance(outcome, (list, tuple))
    return [outcome] if single else outcome


def _rewritten_as(outcome: Any) -> Operation:
    if not isinstance(outcome, Operation):
        got = type(outcome).__name__
        raise ArgumentError(f"a rewrite returns None, an operation or a list of them, got {got}")
    return with_attributes_of_the_tree(outcome)


def _body_of(function: Function) -> Block:
    if function.body is None or len(function.body.blocks) != 1:
        raise ArgumentError(f"@{function.name} has no single block to take a slice of")
    return function.body.blocks[0]


def _defined(operations: Sequence[Operation]) -> Iterator[tuple[str, Type]]:
    for operation in operations:
        for name, type in zip(operation.results, operation.result_types, strict=False):
            yield from ((each, type) for each in result_names(name))


def _regions(operations: Sequence[Operation]) -> Iterator[Region]:
    return (region for operation in operations for region in operation.regions)


def _names_in(region: Region) -> Iterator[str]:
    """Yields the names that a region and those inside it define."""
    for block in region.blocks:
        yield from (argument.name for argument in block.arguments)
    for operation in _walked(region):
        yield from (name for name, _ in _defined([operation]))
        for inner in operation.regions:
            for block in inner.blocks:
                yield from (argument.name for argument in block.arguments)


def _argument_names(taken: Sequence[str], known: Container[str]) -> dict[str, str]:
    """Returns what to call the arguments that were one of several results, such as `%1#0`."""
    names: dict[str, str] = {}
    for name in taken:
        base, mark, index = name.partition("#")
        if not mark:
            continue
        # In MLIR a name that begins with a digit is a number.
        letter = "v" if base[1].isdigit() else ""
        fresh = f"%{letter}{base[1:]}_{index}"
        while fresh in known or fresh in names.values():
            fresh = f"{fresh}_"
        names[name] = fresh
        if index == "0":
            # The first of several results also goes by the name that they share.
            names[base] = fresh
    return names


def _renamed(operation: Operation, names: Mapping[str, str]) -> Operation:
    """Returns an operation that uses other names for some values, in its regions too."""
    if not names:
        return operation
    regions = [
        Region(
            tuple(
                [
                    block._replace(operations=tuple([_renamed(each, names) for each in block[1]]))
                    for block in region.blocks
                ]
            )
        )
        for region in operation.regions
    ]
    operands = tuple([names.get(name, name) for name in operation.operands])
    return operation._replace(operands=operands, regions=tuple(regions))


def _own_name(name: str, known: Container[str]) -> str:
    """Returns the name of a value alone, where `name` is what several results share."""
    return f"{name}#0" if f"{name}#0" in known else name


def _needed(
    block: Block, results: Sequence[str], inputs: Sequence[str]
) -> tuple[list[Operation], list[str]]:
    """Returns the operations that lead from `inputs` to `results`, and the values they start at."""
    defined = {name for name, _ in _defined(block.operations)}
    wanted = {name for name in results if name not in inputs}
    kept: list[Operation] = []
    for operation in reversed(block.operations):
        own = {name for name, _ in _defined([operation])}
        if own.isdisjoint(wanted):
            continue
        kept.append(operation)
        used = {*operation.operands, *captured(operation.regions)}
        wanted |= {_own_name(name, defined) for name in used} - {*inputs}
    starts = [each.name for each in block.arguments if each.name in wanted]
    return kept[::-1], [*inputs, *[name for name in starts if name not in inputs]]
