"""Scalars: bodies over tensors of one element read as such, and what works element by element."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.context import BuildContext
from topos.stablehlo.dense import decoded
from topos.stablehlo.dialect import has
from topos.stablehlo.ir import Block, Dense, Operation, Parameter, Symbol, Tensor, Type
from topos.stablehlo.traits import Trait

__all__ = ["is_scalar", "moves_nothing", "over_scalars", "works_pointwise"]

Known = tuple[tuple[Parameter, Array], ...]

_SINGLE: Final = Trait.ELEMENTWISE | Trait.LAYOUT


def over_scalars(
    block: Block, captures: tuple[Parameter, ...], known: Known
) -> tuple[Block, Known]:
    """Returns a block whose values are all scalars, where it computes on single elements alone.

    So it is where it takes and returns scalars and its operations are elementwise or only lay out
    tensors of one element, such as `tensor<1x1xf32>`; it then computes the same from scalars, and
    what lays out nothing is left out. Any other block is returned as it is. The constants `known`
    outside go with it.
    """
    *operations, end = block.operations
    given = [parameter.type for parameter in (*block.arguments, *captures)]
    if not all(map(is_scalar, given)) or not all(map(_is_single, operations)):
        return block, known
    made = {parameter.name: parameter.type for parameter, _ in known}
    for operation in operations:
        made.update(zip(operation.results, operation.result_types, strict=True))
    returned = [made[name] for name in end.operands if name in made]
    if not all(map(_is_unit, made.values())) or not all(map(is_scalar, returned)):
        return block, known
    if all(map(is_scalar, made.values())):
        return block, known
    constants = [
        (parameter._replace(type=_scalar(parameter.type)), array.reshape(()))
        for parameter, array in known
    ]
    return block._replace(operations=_rewritten(operations, end)), tuple(constants)


def _rewritten(operations: Iterable[Operation], end: Operation) -> tuple[Operation, ...]:
    names: dict[str, str] = {}
    kept: list[Operation] = []
    for operation in operations:
        operands = tuple([names.get(name, name) for name in operation.operands])
        if has(operation.name, Trait.LAYOUT):
            names[operation.results[0]] = operands[0]
        else:
            kept.append(_of_scalars(operation, operands))
    returned = tuple([names.get(name, name) for name in end.operands])
    return (*kept, end._replace(operands=returned))


def _of_scalars(operation: Operation, operands: tuple[str, ...]) -> Operation:
    attributes = dict(operation.attributes)
    value = attributes.get("value")
    if isinstance(value, Dense):
        array = decoded(value).reshape(())
        type = _scalar(value.type)
        attributes["value"] = Dense(value.body, type, value.line, value.column, array)
    return operation._replace(
        operands=operands,
        attributes=attributes,
        operand_types=None,
        result_types=tuple(map(_scalar, operation.result_types)),
    )


def _is_single(operation: Operation) -> bool:
    """Returns whether an operation makes single elements of single elements."""
    return (
        has(operation.name, _SINGLE)
        and not operation.regions
        and all(map(_is_unit, operation.result_types))
    )


def _is_unit(type: Type) -> bool:
    return isinstance(type, Tensor) and all(extent == 1 for extent in type.shape)


def is_scalar(type: Type) -> bool:
    """Returns whether a value of `type` is a tensor of no axes."""
    return isinstance(type, Tensor) and not type.shape


def _scalar(type: Type) -> Type:
    return type._replace(shape=()) if isinstance(type, Tensor) else type


def works_pointwise(context: BuildContext[Any]) -> bool:
    """Returns whether the kernel of `context`, all of scalars, also computes element by element."""
    op = context.op
    if op.calls:
        callee = Symbol(context.attribute(op.calls))
        return context.function(callee, context.operation).elementwise
    if op.is_carrier:
        return all(region.elementwise for region in context.regions)
    return op.is_elementwise or moves_nothing(context)


def moves_nothing(context: BuildContext[Any]) -> bool:
    """Returns whether `context` gives its one scalar another layout, of which there is but one."""
    if not context.op.is_layout:
        return False
    return all(map(is_scalar, (*context.operands, *context.results)))
