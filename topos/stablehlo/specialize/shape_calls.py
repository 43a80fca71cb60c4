"""Custom calls that speak of shapes: assertions, shapes of results, and further dynamic forms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy.typing as npt

from topos.errors import ArgumentError
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect.calling import Call
from topos.stablehlo.dialect.control import Return
from topos.stablehlo.dialect.custom import CustomCall
from topos.stablehlo.dialect.random import RngBitGenerator
from topos.stablehlo.dialect.sorting import TopK
from topos.stablehlo.dialect.windows import ReduceWindow
from topos.stablehlo.fresh_names import FreshNames
from topos.stablehlo.ir import (
    Block,
    Function,
    Operation,
    Packed,
    Region,
    Symbol,
    Tensor,
    Type,
    result_names,
)
from topos.stablehlo.shapes import ranked
from topos.stablehlo.specialize.static_forms import Form, demand_known, padding, static
from topos.stablehlo.walks import symbols

Array = npt.NDArray[Any]

_INDICES: Final = "indices_of_shape_operands"
_LAYOUTS: Final = "operand_layouts"
_PLACE: Final = re.compile(r"\{(\d+)\}")
_WINDOW: Final = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")


def asks_for_shapes(operation: Operation) -> bool:
    """Returns whether an operation is a custom call that `shape_call` knows."""
    if operation.name != CustomCall.operation_name:
        return False
    target = operation.attributes.get("call_target_name")
    return target in _TARGETS or _INDICES in operation.attributes


def shape_call(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    """Returns the operations that take the place of a custom call: none for an assertion.

    Raises `ArgumentError` with the module's own message where an assertion does not hold.
    """
    target = view.word("call_target_name")
    return _TARGETS.get(target, _of_shapes)(view, fresh)


def _assertion(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    (holds,) = demand_known(view, 0, "assertion")
    if holds:
        return ()
    message = view.optional("error_message") or "a shape assertion does not hold"
    numbers = view.constants[1:]
    raise ArgumentError(_PLACE.sub(lambda place: _shown(place, numbers), str(message)))


def _shown(place: re.Match[str], numbers: tuple[Array | None, ...]) -> str:
    index = int(place[1])
    array = numbers[index] if index < len(numbers) else None
    return place[0] if array is None else str(array.tolist())


def _of_shapes(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    """The call with the shapes of its results in their types, and not among its operands."""
    places = view.integers(_INDICES)
    view.demand(
        len(places) == len(view.results) and all(0 <= at < len(view.operands) for at in places),
        f"needs an operand for each of {len(view.results)} results as {_INDICES}, got {places}",
    )
    types: list[Type] = []
    for index, stated in zip(places, view.results, strict=True):
        element = ranked(view, stated, "result").element
        types.append(Tensor(demand_known(view, index, "result's shape"), element))
    kept = tuple([index for index in range(len(view.operands)) if index not in places])
    layouts = view.operation.attributes.get(_LAYOUTS)
    changed = {} if layouts is None else {_LAYOUTS: tuple([layouts[index] for index in kept])}
    (made,) = static(view, CustomCall, tuple(types), kept, {_INDICES: None, **changed})
    return (made,)


def _top_k(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    (k,) = demand_known(view, 1, "k")
    operand = ranked(view, view.operands[0], "operand")
    shape = (*operand.shape[:-1], k)
    types = (Tensor(shape, operand.element), Tensor(shape, "i32"))
    (made,) = static(view, TopK, types)
    return (made._replace(attributes={"k": k}),)


def _random_bits(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    shape = demand_known(view, 1, "shape")
    element = ranked(view, view.results[1], "result").element
    types = (view.operands[0], Tensor(shape, element))
    (made,) = static(view, RngBitGenerator, types)
    algorithm = view.operation.attributes["rng_algorithm"]
    return (made._replace(attributes={"rng_algorithm": algorithm}),)


def _reduce_window(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    """A reduction of windows, whose body is the function that the call names."""
    count = (len(view.operands) - len(_WINDOW) - 1) // 2
    if count < 1 or len(view.operands) != 2 * count + len(_WINDOW) + 1:
        view.refuse(f"needs windows beside its inputs, got {len(view.operands)} operands")
    attributes: dict[str, Any] = {
        key: Packed(demand_known(view, 2 * count + index, key)) for index, key in enumerate(_WINDOW)
    }
    attributes["padding"] = padding(view, len(view.operands) - 1)
    (made,) = static(view, ReduceWindow, view.results, tuple(range(2 * count)))
    return (made._replace(attributes=attributes, regions=(_body(view, fresh),)),)


def _body(view: Definition, fresh: FreshNames) -> Region:
    """Returns what the function that a call names computes, as a region.

    Plain operations stand in the region themselves, for runtimes know a sum by them. Any others
    stay in the function, which the region calls: so functions that name one another do not grow.
    """
    called: tuple[str, ...] = view.optional("called_computations") or ()
    function = view.functions[called[0]] if len(called) == 1 else None
    if function is None or function.body is None:
        view.refuse(f"needs a function with a body as called_computations, got {called}")
    # The names of the function may be those of the one that it is called from.
    (block,) = function.body.blocks
    names = {each.name: fresh(each.name) for each in block.arguments}
    arguments = tuple([each._replace(name=names[each.name]) for each in block.arguments])
    *operations, end = block.operations
    if not all(map(_is_plain, operations)):
        call = _call(view, function, block)
        operations, end = [call], end._replace(operands=call.results)
    made: list[Operation] = []
    for each in (*operations, end._replace(name=Return.operation_name)):
        operands = tuple([names[name] for name in each.operands])
        results = fresh.results(each.results)
        made.append(each._replace(operands=operands, results=results))
        for name, other in zip(each.results, results, strict=True):
            names |= dict.fromkeys(result_names(name), other)
    return Region((Block(arguments, tuple(made)),))


def _is_plain(operation: Operation) -> bool:
    """Returns whether an operation holds no region and names no function."""
    return not operation.regions and not any(symbols(operation))


def _call(view: Definition, function: Function, block: Block) -> Operation:
    """Returns the call of a function with its own arguments, at the place of `view`."""
    count = len(function.results)
    return view.operation._replace(
        name=Call.operation_name,
        results=("%r",) if count == 1 else tuple([f"%r#{index}" for index in range(count)]),
        operands=tuple([each.name for each in block.arguments]),
        operand_types=None,
        attributes={"callee": Symbol(function.name)},
        result_types=tuple([each.type for each in function.results]),
    )


_TARGETS: Final[Mapping[str, Form]] = {
    "shape_assertion": _assertion,
    "stablehlo.dynamic_reduce_window": _reduce_window,
    "stablehlo.dynamic_rng_bit_generator": _random_bits,
    "stablehlo.dynamic_top_k": _top_k,
}
