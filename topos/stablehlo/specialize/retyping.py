"""Retyping: which types are static, and what a stated type adds to an inferred one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topos.stablehlo.ir import Module, Operation, OtherType, Tensor, TupleType, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.regions import walked
from topos.stablehlo.shapes import agree

__all__ = ["MOST", "is_static", "leaves_open", "settled", "states_static"]

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
    return not all(map(is_static, _types(module)))


def _types(module: Module) -> Iterator[Type]:
    for function in module.functions:
        yield from (each.type for each in (*function.arguments, *function.results))
        for operation in walked(function.body) if function.body else ():
            yield from operation.result_types
            blocks = [block for region in operation.regions for block in region.blocks]
            yield from (argument.type for block in blocks for argument in block.arguments)


def states_static(operation: Operation) -> bool:
    """Returns whether the text states a static type for each result."""
    return all(map(is_static, operation.result_types))


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
