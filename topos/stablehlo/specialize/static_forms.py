"""Static forms: the operation that a dynamic one is once its sizes are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from topos.stablehlo.definition import Definition
from topos.stablehlo.dense import listed
from topos.stablehlo.dialect._demands import known
from topos.stablehlo.dialect.constants import Iota
from topos.stablehlo.dialect.convolutions import Convolution, DynamicConv
from topos.stablehlo.dialect.dynamic import (
    DynamicBroadcastInDim,
    DynamicIota,
    DynamicPad,
    DynamicReshape,
    GetDimensionSize,
    SetDimensionSize,
)
from topos.stablehlo.dialect.gathering import DynamicGather, Gather
from topos.stablehlo.dialect.layout import BroadcastInDim, Cast, Pad, Reshape
from topos.stablehlo.dialect.slicing import DynamicSlice, RealDynamicSlice, Slice
from topos.stablehlo.fresh_names import FreshNames
from topos.stablehlo.ir import Dense, Operation, Packed, Tensor, Type
from topos.stablehlo.shapes import agree, ranked, shapes_agree, size_of
from topos.stablehlo.specialize.shape_arithmetic import constant

# Returns the operations that take the place of one; none where its result is its first operand.
# Values in between have fresh names.
Form = Callable[[Definition, FreshNames], tuple[Operation, ...]]

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})
_HINTS: Final = ("known_expanding_dimensions", "known_nonexpanding_dimensions")


def demand_known(view: Definition, index: int, what: str) -> tuple[int, ...]:
    """Returns the numbers of an operand, refused where they are computed in the run."""
    values = known(view, index)
    if values is None:
        name = view.operation.operands[index]
        view.unsupported(
            f"takes its {what} from {name}, which the shapes of the arguments do not tell"
        )
    return values


def static(
    view: Definition,
    form: type[Definition],
    types: tuple[Type, ...],
    operands: tuple[int, ...] = (0,),
    attributes: Mapping[str, Any] = _NONE,
) -> tuple[Operation, ...]:
    """Returns the operation `form` on some of the operands, in the place of the dynamic one.

    It keeps the attributes that are not in `attributes`; one that is `None` there is left out.
    """
    merged = {**view.operation.attributes, **attributes}
    kept = {key: value for key, value in merged.items() if value is not None}
    return (
        view.operation._replace(
            name=form.operation_name,
            operands=tuple([view.operation.operands[index] for index in operands]),
            operand_types=tuple([view.operands[index] for index in operands]),
            attributes=kept,
            result_types=types,
        ),
    )


def padding(view: Definition, index: int) -> Dense:
    """Returns the operand that holds pairs of a padding as an attribute."""
    pairs = np.array(demand_known(view, index, "padding"), np.int64).reshape(-1, 2)
    return Dense(listed(pairs, "i64"), Tensor(pairs.shape, "i64"), *view.operation.place)


def _sized(view: Definition, index: int, what: str) -> tuple[Type, ...]:
    """Returns the type of the result, whose extents an operand or the text tells."""
    stated = ranked(view, view.results[0], "result")
    if known(view, index) is None and None not in stated.shape:
        return (Tensor(stated.shape, stated.element),)
    shape = demand_known(view, index, what)
    if not shapes_agree(shape, stated.shape) or any(extent < 0 for extent in shape):
        view.refuse(f"results in {stated}, got {list(shape)} as {what}")
    return (Tensor(shape, stated.element),)


def _dynamic_reshape(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    return static(view, Reshape, _sized(view, 1, "output_shape"))


def _dynamic_broadcast(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    types = _sized(view, 1, "output_dimensions")
    return static(view, BroadcastInDim, types, attributes=dict.fromkeys(_HINTS))


def _dynamic_iota(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    return static(view, Iota, _sized(view, 0, "output_shape"), ())


def _dynamic_pad(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    low, high, interior = (
        Packed(demand_known(view, index, what))
        for index, what in ((2, "low padding"), (3, "high padding"), (4, "interior padding"))
    )
    paddings = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    return static(view, Pad, view.results, (0, 1), paddings)


def _dynamic_gather(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    sizes = Packed(demand_known(view, 2, "slice_sizes"))
    return static(view, Gather, view.results, (0, 1), {"slice_sizes": sizes})


def _dynamic_conv(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    return static(view, Convolution, view.results, (0, 1), {"padding": padding(view, 2)})


def _real_dynamic_slice(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    stated = ranked(view, view.results[0], "result")
    strides = known(view, 3)
    if known(view, 1) is None and None not in stated.shape and set(strides or (0,)) <= {1}:
        return _computed_slice(view, stated, fresh)
    columns = {
        key: Packed(demand_known(view, index, key))
        for index, key in ((1, "start_indices"), (2, "limit_indices"), (3, "strides"))
    }
    return static(view, Slice, view.results, attributes=columns)


def _computed_slice(view: Definition, result: Tensor, fresh: FreshNames) -> tuple[Operation, ...]:
    """Returns a slice whose starts are computed, each taken from the operand that holds them."""
    at, starts = view.operation, ranked(view, view.operands[1], "start_indices")
    scalar = Tensor((), starts.element)
    made: list[Operation] = []
    for axis in range(len(result.shape)):
        part, index = fresh("%part"), fresh("%start")
        edges = {"start_indices": axis, "limit_indices": axis + 1, "strides": 1}
        sliced = static(
            view,
            Slice,
            (Tensor((1,), starts.element),),
            (1,),
            {key: Packed((edge,)) for key, edge in edges.items()},
        )[0]._replace(results=(part,))
        reshaped = sliced._replace(
            name=Reshape.operation_name,
            results=(index,),
            operands=(part,),
            operand_types=sliced.result_types,
            attributes={},
            result_types=(scalar,),
        )
        made += [sliced, reshaped]
    (slicing,) = static(
        view, DynamicSlice, (result,), attributes={"slice_sizes": Packed(result.shape)}
    )
    operands = (at.operands[0], *[each.results[0] for each in made[1::2]])
    types = (view.operands[0], *[scalar] * len(result.shape))
    return (*made, slicing._replace(operands=operands, operand_types=types))


def _get_dimension_size(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    operand = ranked(view, view.operands[0], "operand")
    (axis,) = view.axes("dimension", (view.integer("dimension"),), len(operand.shape))
    extent = operand.shape[axis]
    if extent is not None and extent > np.iinfo(np.int32).max:
        view.unsupported(f"has no i32 for the extent {extent} of {operand}")
    return (constant(view.operation, np.array(extent, np.int32), Tensor((), "i32")),)


def _set_dimension_size(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    """The first elements along the axis, which are all that a dynamic extent lets see."""
    operand = ranked(view, view.operands[0], "operand")
    (axis,) = view.axes("dimension", (view.integer("dimension"),), len(operand.shape))
    (size,) = demand_known(view, 1, "size")
    extent = operand.shape[axis]
    if size == extent:
        return ()
    if extent is None or not 0 <= size < extent:
        view.unsupported(f"needs a size up to {extent}, which {operand} has, got {size}")
    limits = [*operand.shape]
    limits[axis] = size
    ones, zeros = Packed((1,) * len(limits)), Packed((0,) * len(limits))
    columns = {"start_indices": zeros, "limit_indices": Packed(limits), "strides": ones}
    type = Tensor(tuple(limits), operand.element)
    return static(view, Slice, (type,), attributes={"dimension": None, **columns})


def _cast(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    if not agree(view.operands[0], view.results[0]):
        view.refuse(f"cannot turn {view.operands[0]} into {view.results[0]}")
    return ()


def _reshape(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    """A reshape to one bounded extent, which the number of elements tells."""
    operand, result = (ranked(view, each[0], "tensor") for each in (view.operands, view.results))
    if result.shape.count(None) != 1:
        return (view.operation,)
    rest = prod([extent for extent in result.shape if extent is not None])
    size = size_of(operand.shape)
    if not rest or size is None or size % rest:
        view.refuse(f"cannot turn {operand} into {result}")
    shape = tuple([size // rest if extent is None else extent for extent in result.shape])
    return static(view, Reshape, (Tensor(shape, result.element),))


def _broadcast_in_dim(view: Definition, fresh: FreshNames) -> tuple[Operation, ...]:
    """A broadcast to one bounded extent, which is the operand's unless that is 1."""
    operand, result = (ranked(view, each[0], "tensor") for each in (view.operands, view.results))
    if None not in result.shape:
        return (view.operation,)
    shape: list[int | None] = [*result.shape]
    for axis, extent in zip(view.integers("broadcast_dimensions"), operand.shape, strict=True):
        if shape[axis] is None and extent != 1:
            shape[axis] = extent
    encoding = result.encoding if None in shape else ""
    return static(view, BroadcastInDim, (Tensor(tuple(shape), result.element, encoding),))


STATIC_FORMS: Final[Mapping[type[Definition], Form]] = {
    BroadcastInDim: _broadcast_in_dim,
    DynamicBroadcastInDim: _dynamic_broadcast,
    DynamicConv: _dynamic_conv,
    DynamicGather: _dynamic_gather,
    DynamicIota: _dynamic_iota,
    DynamicPad: _dynamic_pad,
    DynamicReshape: _dynamic_reshape,
    GetDimensionSize: _get_dimension_size,
    RealDynamicSlice: _real_dynamic_slice,
    Reshape: _reshape,
    SetDimensionSize: _set_dimension_size,
    Cast: _cast,
}
