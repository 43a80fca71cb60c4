"""Retyping: which types are static, and what is known of the values that an operation defines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect.control import While
from topos.stablehlo.ir import Module, OtherType, Tensor, TupleType, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.shapes import agree
from topos.stablehlo.specialize.shape_arithmetic import constant_of, folds, is_number, number
from topos.stablehlo.specialize.values import Value, beyond, carried, of_numbers, union
from topos.stablehlo.walks import walked

# The largest extent that MLIR has.
MOST: Final = 2**63 - 1


def is_static(type: Type) -> bool:
    """Returns whether a type leaves nothing of a shape open, bounds included."""
    match type:
        case Tensor(shape, _, encoding):
            return None not in shape and not encoding
        case TupleType(parts):
            return all(map(is_static, parts))
        case OtherType(text):
            return "?" not in text
    return False


def leaves_open(module: Module) -> bool:
    """Returns whether a type of a module leaves something of a shape open."""
    return not all(map(is_static, _stated(module)))


def _stated(module: Module) -> Iterator[Type]:
    for function in module.functions:
        yield from (each.type for each in (*function.arguments, *function.results))
        for operation in walked(function.body) if function.body else ():
            yield from operation.result_types
            blocks = [block for region in operation.regions for block in region.blocks]
            yield from (argument.type for block in blocks for argument in block.arguments)


def settled(view: OpView, inferred: tuple[Type, ...]) -> tuple[Type, ...]:
    """Returns the types of the results: those inferred with what the stated ones add.

    Refuses an operation whose types disagree, and one that leaves an extent open.
    """
    if len(inferred) != len(view.results):
        view.refuse(f"has {len(inferred)} results, got {len(view.results)}")
    return tuple(map(lambda one, other: _settled(view, one, other), inferred, view.results))


def _settled(view: OpView, inferred: Type, stated: Type) -> Type:
    if not agree(inferred, stated):
        view.refuse(f"results in {inferred}, got {stated}")
    type = _with(inferred, stated)
    if not is_static(type):
        view.unsupported(f"results in {type}, which the shapes of the arguments do not tell")
    for extent in type.shape if isinstance(type, Tensor) else ():
        if extent is not None and not 0 <= extent <= MOST:
            view.refuse(f"results in {type}, whose extent {extent} is not from 0 to {MOST}")
    return type


def _with(inferred: Type, stated: Type) -> Type:
    match inferred, stated:
        case TupleType(parts), TupleType(others):
            return TupleType(tuple(map(_with, parts, others)))
        case Tensor(shape, element), Tensor(known):
            extents = tuple(
                other if extent is None else extent
                for extent, other in zip(shape, known, strict=True)
            )
            kept = inferred.encoding if None in extents else ""
            return Tensor(extents, element, kept)
        case _, Tensor():
            return stated
    return inferred


def results_of(view: Definition, values: tuple[Value, ...], is_new: bool) -> tuple[Value, ...]:
    """Returns what is known of the results, for operands of such values.

    An operation that `is_new` is not verified yet. Raises as `settled` does.
    """
    operation = view.operation
    types = _types(view, values, is_new)
    plain = [
        Value(type, type != stated)
        for type, stated in zip(types, operation.result_types, strict=True)
    ]
    if view.is_constant:
        array = constant_of(operation.attributes.get("value"))
        return (plain[0]._replace(array=array),)
    if isinstance(view, While):
        return tuple(map(of_numbers, plain, carried(operation, values)))
    match types:
        case (Tensor() as tensor,) if folds(type(view)) and is_number(tensor):
            array = number(view, tensor)
            further = beyond(operation, view.constants) if array is None else None
            return (Value(tensor, plain[0].changed, array, union(values), further),)
    return tuple(plain)


def _types(view: Definition, values: tuple[Value, ...], is_new: bool) -> tuple[Type, ...]:
    # A region may use values of other types than the text states, and return them.
    changed = is_new or view.operation.regions or any(value.changed for value in values)
    stated = view.operation.result_types
    if all(map(is_static, stated)) and not changed:
        return stated
    return settled(view, view.infer())


def arguments_of(view: Definition, position: int, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Returns what the block of a region takes, for operands of such values."""
    operation = view.operation
    if isinstance(view, While):
        return carried(operation, values)
    stated = [each.type for each in operation.regions[position].blocks[0].arguments]
    if all(map(is_static, stated)):
        return tuple(map(Value, stated))
    taken = view.block_types(len(operation.regions))
    if position >= len(taken) or len(taken[position]) != len(stated):
        view.unsupported("takes a block of arguments whose types nothing tells")
    return tuple(map(Value, taken[position]))
