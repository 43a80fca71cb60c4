"""Axes of arguments, cut alone or together; the types of all other values follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations, product
from typing import NamedTuple

from topos.errors import ToposError
from topos.judge.reproduction.chains import Part
from topos.judge.reproduction.shapes import EXTENTS, resized
from topos.stablehlo import Module
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import Block, Function, FunctionType, Operation, Region, Tensor, Type
from topos.stablehlo.values import result_types


class Axis(NamedTuple):
    """One axis of an argument."""

    argument: int
    axis: int


def groups(part: Part, extent: int) -> Iterator[tuple[Axis, ...]]:
    """Yields axes of an extent that may be shortened together: all of them, pairs, and each."""
    axes = [
        Axis(place, axis)
        for place, array in enumerate(part.arguments)
        for axis, n in enumerate(array.shape)
        if n == extent
    ]
    if len(axes) > 2:
        yield tuple(axes)
    yield from (pair for pair in combinations(axes, 2) if pair[0].argument != pair[1].argument)
    yield from ((axis,) for axis in axes)


def along(part: Part, axes: Sequence[Axis], kept: Sequence[int]) -> Iterator[Part]:
    """Yields the part with some axes of its arguments cut to the places `kept`.

    The types of the results are what the definition of each operation infers. Of a single operation
    of which that is not right, some axes of the results of the same extent are cut.
    """
    main = part.module.function()
    assert main.body is not None  # The oracle ran it.
    block = main.body.blocks[0]
    arguments = [*part.arguments]
    extent = arguments[axes[0].argument].shape[axes[0].axis]
    for each in axes:
        arguments[each.argument] = arguments[each.argument].take(kept, each.axis)
    taken = {
        parameter.name: parameter.type._replace(shape=array.shape)
        for parameter, array in zip(main.arguments, arguments, strict=True)
        if isinstance(parameter.type, Tensor)
    }
    if len(block.operations) != 2:
        chain = _inferred(block.operations[:-1], taken, extent, len(kept))
        if chain is not None:
            yield Part(_of(part.module, main, chain, taken), tuple(arguments))
        return
    operation = block.operations[0]
    kinds = tuple([taken[name] for name in operation.operands])
    for changed in (True, False):
        sizes = (extent, len(kept)) if changed else None
        other = operation._replace(
            operand_types=kinds, attributes=resized(operation.attributes, sizes)
        )
        for results in _result_types(other, kinds, extent, len(kept)):
            typed = other._replace(result_types=results)
            yield Part(_of(part.module, main, (typed,), taken), tuple(arguments))
        if not EXTENTS & operation.attributes.keys():
            return


def _result_types(
    operation: Operation, kinds: tuple[Type, ...], extent: int, count: int
) -> Iterator[tuple[Type, ...]]:
    definition, stated = find(operation.name), operation.result_types
    if definition is not None and not operation.regions:
        with suppress(ToposError, ArithmeticError, LookupError):
            yield result_types(definition(operation, kinds, (), (None,) * len(kinds)))
    axes = [
        [axis for axis, n in enumerate(getattr(type, "shape", ())) if n == extent]
        for type in stated
    ]
    choices = [
        [(), tuple(each), *[(axis,) for axis in each if len(each) > 1]] if each else [()]
        for each in axes
    ]
    for chosen in product(*choices):
        yield tuple([_cut(type, cut, count) for type, cut in zip(stated, chosen, strict=True)])


def _cut(type: Type, axes: Sequence[int], count: int) -> Type:
    if not isinstance(type, Tensor):
        return type
    shape = [count if axis in axes else n for axis, n in enumerate(type.shape)]
    return type._replace(shape=tuple(shape))


def _inferred(
    operations: Sequence[Operation], taken: dict[str, Tensor], extent: int, count: int
) -> tuple[Operation, ...] | None:
    """Returns operations with the types that follow from those of arguments, or `None`.

    What only a text says, such as the result of a broadcast, is cut in every axis of the extent.
    """
    types, typed = dict[str, Type](taken), list[Operation]()
    for operation in operations:
        definition = find(operation.name)
        if definition is None or not {*operation.operands} <= types.keys():
            return None
        kinds = tuple([types[name] for name in operation.operands])
        results = operation.result_types
        if not definition.is_constant:
            bodies = tuple([_signature(each) for each in operation.regions])
            try:
                results = result_types(
                    definition(operation, kinds, (), (None,) * len(kinds), bodies)
                )
            except ToposError:
                results = tuple([_everywhere(each, extent, count) for each in results])
            except (ArithmeticError, LookupError):
                return None
        typed.append(operation._replace(operand_types=kinds, result_types=results))
        types.update(zip(operation.results, results, strict=False))
    return tuple(typed)


def _signature(region: Region) -> FunctionType:
    (block,) = region.blocks
    types = {each.name: each.type for each in block.arguments}
    for operation in block.operations[:-1]:
        types.update(zip(operation.results, operation.result_types, strict=True))
    returned = [types[name] for name in block.operations[-1].operands if name in types]
    return FunctionType(tuple([each.type for each in block.arguments]), tuple(returned))


def _everywhere(type: Type, extent: int, count: int) -> Type:
    if not isinstance(type, Tensor):
        return type
    return _cut(type, [axis for axis, n in enumerate(type.shape) if n == extent], count)


def _of(
    module: Module, main: Function, operations: Sequence[Operation], taken: dict[str, Tensor]
) -> Module:
    assert main.body is not None  # The oracle ran it.
    end = main.body.blocks[0].operations[-1]
    types: dict[str, Type] = {**taken}
    for operation in operations:
        types.update(zip(operation.results, operation.result_types, strict=True))
    parameters = tuple([each._replace(type=taken[each.name]) for each in main.arguments])
    kinds = tuple([types[name] for name in end.operands])
    block = Block(parameters, (*operations, end._replace(operand_types=kinds)))
    changed = main._replace(
        arguments=parameters,
        results=tuple(
            [each._replace(type=kind) for each, kind in zip(main.results, kinds, strict=True)]
        ),
        body=Region((block,)),
    )
    functions = tuple([changed if each is main else each for each in module.functions])
    return module._replace(functions=functions)
