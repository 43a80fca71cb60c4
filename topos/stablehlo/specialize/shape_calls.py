"""Custom calls that speak of shapes: assertions, shapes of results, and further dynamic forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy.typing as npt

from topos.errors import ArgumentError
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect.control import Return
from topos.stablehlo.dialect.custom import CustomCall
from topos.stablehlo.dialect.random import RngBitGenerator
from topos.stablehlo.dialect.sorting import TopK
from topos.stablehlo.dialect.windows import ReduceWindow
from topos.stablehlo.ir import Block, Operation, Packed, Region, Tensor, Type
from topos.stablehlo.shapes import ranked
from topos.stablehlo.specialize.static_forms import demand_known, padding, static

__all__ = ["asks_for_shapes", "shape_call"]

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


def shape_call(view: Definition) -> tuple[Operation, ...]:
    """Returns the operations that take the place of a custom call: none for an assertion.

    Raises `ArgumentError` with the module's own message where an assertion does not hold.
    """
    target = view.word("call_target_name")
    return _TARGETS.get(target, _of_shapes)(view)


def _assertion(view: Definition) -> tuple[Operation, ...]:
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


def _of_shapes(view: Definition) -> tuple[Operation, ...]:
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


def _top_k(view: Definition) -> tuple[Operation, ...]:
    (k,) = demand_known(view, 1, "k")
    operand = ranked(view, view.operands[0], "operand")
    shape = (*operand.shape[:-1], k)
    types = (Tensor(shape, operand.element), Tensor(shape, "i32"))
    (made,) = static(view, TopK, types)
    return (made._replace(attributes={"k": k}),)


def _random_bits(view: Definition) -> tuple[Operation, ...]:
    shape = demand_known(view, 1, "shape")
    element = ranked(view, view.results[1], "result").element
    types = (view.operands[0], Tensor(shape, element))
    (made,) = static(view, RngBitGenerator, types)
    algorithm = view.operation.attributes["rng_algorithm"]
    return (made._replace(attributes={"rng_algorithm": algorithm}),)


def _reduce_window(view: Definition) -> tuple[Operation, ...]:
    """A reduction of windows, whose body is the function that the call names."""
    count = (len(view.operands) - len(_WINDOW) - 1) // 2
    if count < 1 or len(view.operands) != 2 * count + len(_WINDOW) + 1:
        view.refuse(f"needs windows beside its inputs, got {len(view.operands)} operands")
    attributes: dict[str, Any] = {
        key: Packed(demand_known(view, 2 * count + index, key)) for index, key in enumerate(_WINDOW)
    }
    attributes["padding"] = padding(view, len(view.operands) - 1)
    (made,) = static(view, ReduceWindow, view.results, tuple(range(2 * count)))
    return (made._replace(attributes=attributes, regions=(_body(view),)),)


def _body(view: Definition) -> Region:
    """Returns the body of the function that a call names, ended as a region is."""
    called: tuple[str, ...] = view.optional("called_computations") or ()
    function = view.functions[called[0]] if len(called) == 1 else None
    if function is None or function.body is None:
        view.refuse(f"needs a function with a body as called_computations, got {called}")
    (block,) = function.body.blocks
    *operations, end = block.operations
    ended = block._replace(operations=(*operations, end._replace(name=Return.operation_name)))
    # The names of the function may be those of the one that it is called from.
    return _prefixed(Region((ended,)), f"%in_{view.operation.results[0][1:].replace('#', '_')}_")


def _prefixed(region: Region, prefix: str) -> Region:
    def named(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple([prefix + name[1:] for name in names])

    blocks: list[Block] = []
    for block in region.blocks:
        arguments = [each._replace(name=prefix + each.name[1:]) for each in block.arguments]
        operations = [
            each._replace(
                results=named(each.results),
                operands=named(each.operands),
                regions=tuple([_prefixed(inner, prefix) for inner in each.regions]),
            )
            for each in block.operations
        ]
        blocks.append(block._replace(arguments=tuple(arguments), operations=tuple(operations)))
    return Region(tuple(blocks))


_TARGETS: Final[Mapping[str, Callable[[Definition], tuple[Operation, ...]]]] = {
    "shape_assertion": _assertion,
    "stablehlo.dynamic_reduce_window": _reduce_window,
    "stablehlo.dynamic_rng_bit_generator": _random_bits,
    "stablehlo.dynamic_top_k": _top_k,
}
