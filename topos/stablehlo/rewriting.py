"""Functions rewritten: operations replaced, and slices that lead from some values to others."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

from topos.errors import ArgumentError, SymbolError
from topos.stablehlo.dialect.calling import Return
from topos.stablehlo.fresh_names import FreshNames, names_in
from topos.stablehlo.given import operation_of_the_tree
from topos.stablehlo.ir import Block, Function, Operation, Parameter, Region, Type, result_names
from topos.stablehlo.scope import captured

Rewrite = Callable[[Operation], "Operation | Sequence[Operation] | None"]


def rewritten(region: Region, rewrite: Rewrite) -> Region:
    """Returns `region` with its operations replaced, those of inner regions first."""
    blocks: list[Block] = []
    for block in region.blocks:
        operations: list[Operation] = []
        for operation in block.operations:
            inner = operation
            if operation.regions:
                regions: list[Region] = []
                # Regions nest deep, and a loop costs one call inside another less.
                for each in operation.regions:
                    regions.append(rewritten(each, rewrite))
                inner = operation._replace(regions=tuple(regions))
            outcome = rewrite(inner)
            if outcome is None:
                operations.append(inner)
            else:
                operations += [_of_the_tree(each, inner) for each in _listed(outcome)]
        blocks.append(block._replace(operations=tuple(operations)))
    return Region(tuple(blocks))


def _listed(outcome: Any) -> Sequence[Any]:
    # An operation is a tuple itself.
    single = isinstance(outcome, Operation) or not isinstance(outcome, (list, tuple))
    return [outcome] if single else outcome


def _of_the_tree(outcome: Any, inner: Operation) -> Operation:
    if not isinstance(outcome, Operation):
        got = type(outcome).__name__
        raise ArgumentError(f"a rewrite returns None, an operation or a list of them, got {got}")
    return operation_of_the_tree(outcome, inner)


def sliced(source: Function, results: Sequence[str], inputs: Sequence[str]) -> Function:
    """Returns the function `@main` that computes the values `results` of `source` from `inputs`.

    Raises `SymbolError` where its outermost block defines no such value.
    """
    if source.body is None or len(source.body.blocks) != 1:
        raise ArgumentError(f"@{source.name} has no single block to take a slice of")
    (block,) = source.body.blocks
    types = {argument.name: argument.type for argument in block.arguments}
    types.update(_defined(block.operations))
    # The first of several results also goes by the name that they share.
    results = [_own_name(name, types) for name in results]
    inputs = [*dict.fromkeys([_own_name(name, types) for name in inputs])]
    for name in (*results, *inputs):
        if name not in types:
            raise SymbolError(f"@{source.name} defines no value {name} outside of regions")
    kept, taken = _needed(block, results, inputs)
    regions = [region for operation in kept for region in operation.regions]
    inside = [name for region in regions for name in names_in(region)]
    names = _argument_names(taken, FreshNames([*types, *inside]))
    arguments = tuple([Parameter(names.get(name, name), types[name], {}) for name in taken])
    kinds = tuple([types[name] for name in results])
    end = Operation(Return.operation_name, (), tuple(results), {}, (), kinds, (), 0, 0)
    body = Region((Block(arguments, (*kept, end)),))
    body = rewritten(body, _renamed(names)) if names else body
    outcomes = tuple([Parameter("", kind, {}) for kind in kinds])
    return Function("main", arguments, outcomes, {}, body, *source.place)


def _defined(operations: Sequence[Operation]) -> Iterator[tuple[str, Type]]:
    for operation in operations:
        for name, type in zip(operation.results, operation.result_types, strict=False):
            yield from ((each, type) for each in result_names(name))


def _argument_names(taken: Sequence[str], fresh: FreshNames) -> dict[str, str]:
    """Returns what to call the arguments that were one of several results, such as `%1#0`."""
    names: dict[str, str] = {}
    for name in taken:
        if "#" in name:
            # The first of several results also goes by the name that they share.
            names.update(dict.fromkeys(result_names(name), fresh(name)))
    return names


def _renamed(names: Mapping[str, str]) -> Rewrite:
    """Returns what makes an operation use other names for some values."""
    return lambda operation: operation._replace(
        operands=tuple([names.get(name, name) for name in operation.operands])
    )


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
