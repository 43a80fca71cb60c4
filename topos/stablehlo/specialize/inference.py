"""What is known of the values that an operation defines: its results, and what its regions take."""

from __future__ import annotations

from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect.control import While
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.specialize.retyping import is_static, settled, states_static
from topos.stablehlo.specialize.shape_arithmetic import constant_of, folds, is_number, number
from topos.stablehlo.specialize.values import Value, beyond, carried, of_numbers, union

__all__ = ["arguments_of", "results_of"]


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
    if states_static(view.operation) and not changed:
        return view.operation.result_types
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
