"""Operations over an axis of samples: the same operation with one more axis in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import (
    contraction,
    convolutions,
    gathering,
    layout,
    linear_algebra,
    reduction,
    scattering,
    slicing,
    sorting,
    windows,
)
from topos.stablehlo.dimension_numbers import (
    ConvolutionNumbers,
    DotNumbers,
    GatherNumbers,
    ScatterNumbers,
)
from topos.stablehlo.ir import Tensor, Type

Axes = tuple[int, ...]
# Takes an operation and the number of samples; returns its attributes that change, by field.
Rule = Callable[[Any, int], dict[str, Any]]
# What an operation with windows says of each axis; of the axis of samples it is one.
STEPS: Final = (
    *("window_dimensions", "window_strides", "base_dilations", "window_dilations"),
    *("lhs_dilation", "rhs_dilation"),
)


def batched(op: Definition, count: int) -> Definition | None:
    """Returns `op` over `count` samples that stand along a new first axis, or `None`.

    Of its operands the first `batched_operands(op)` have the axis. `None` where no operation of
    the same name says it.
    """
    rule = _nothing if op.is_elementwise else RULES.get(type(op))
    if rule is None or not all(isinstance(type, Tensor) for type in (*op.operands, *op.results)):
        return None
    if op.is_elementwise and len({type.shape for type in op.operands}) > 1:  # type: ignore[union-attr]
        return None
    fields = {attribute.name: attribute for attribute in op.declared_attributes}
    changed = {
        fields[name].key: fields[name].made(value) for name, value in rule(op, count).items()
    }
    operation = op.operation._replace(attributes={**op.operation.attributes, **changed})
    taken = batched_operands(op)
    longer = [_longer(type, count) for type in op.operands[:taken]]
    leading = (Tensor((), "i32"),) * len(leading_indices(op))
    rest = [_longer(type, 1) if keeps_axis(op) else type for type in op.operands[taken:]]
    operands = (*longer, *leading, *rest)
    results = tuple([_longer(type, count) for type in op.results])
    return type(op)(operation, operands, results, (None,) * len(operands))


def batched_operands(op: Definition) -> int:
    """Returns how many of the operands have the axis of samples; the others are alike for all."""
    if isinstance(op, layout.Pad | slicing.DynamicSlice | convolutions.Convolution):
        return 1
    if isinstance(op, slicing.DynamicUpdateSlice | windows.SelectAndScatter):
        return 2
    if isinstance(op, reduction.Reduce | windows.ReduceWindow):
        return len(op.operands) // 2
    return len(op.operands)


def keeps_axis(op: Definition) -> bool:
    """Returns whether the operands that are alike for all samples have an axis of one for them."""
    return isinstance(op, convolutions.Convolution)


def leading_indices(op: Definition) -> tuple[npt.NDArray[Any], ...]:
    """Returns operands that stand behind those with the axis of samples: where its slice starts."""
    sliced = isinstance(op, slicing.DynamicSlice | slicing.DynamicUpdateSlice)
    return (np.zeros((), np.int32),) if sliced else ()


def _longer(type: Type, count: int) -> Type:
    return type._replace(shape=(count, *type.shape)) if isinstance(type, Tensor) else type


def _nothing(op: Any, count: int) -> dict[str, Any]:
    return {}


def _moved(axes: Axes) -> Axes:
    return tuple([axis + 1 for axis in axes])


def _slice(op: slicing.Slice, count: int) -> dict[str, Any]:
    return {
        "start_indices": (0, *op.start_indices),
        "limit_indices": (count, *op.limit_indices),
        "strides": (1, *op.strides),
    }


def _pad(op: layout.Pad, count: int) -> dict[str, Any]:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return {name: (0, *getattr(op, name)) for name in names}


def _dot(op: contraction.DotGeneral, count: int) -> dict[str, Any]:
    numbers = op.dot_dimension_numbers
    return {
        "dot_dimension_numbers": DotNumbers(
            (0, *_moved(numbers.lhs_batching_dimensions)),
            (0, *_moved(numbers.rhs_batching_dimensions)),
            _moved(numbers.lhs_contracting_dimensions),
            _moved(numbers.rhs_contracting_dimensions),
        )
    }


def _gather(op: gathering.Gather, count: int) -> dict[str, Any]:
    numbers = op.dimension_numbers
    return {
        "slice_sizes": (1, *op.slice_sizes),
        "dimension_numbers": GatherNumbers(
            _moved(numbers.offset_dims),
            _moved(numbers.collapsed_slice_dims),
            (0, *_moved(numbers.operand_batching_dims)),
            (0, *_moved(numbers.start_indices_batching_dims)),
            _moved(numbers.start_index_map),
            numbers.index_vector_dim + 1,
        ),
    }


def _scatter(op: scattering.Scatter, count: int) -> dict[str, Any]:
    numbers = op.scatter_dimension_numbers
    return {
        "scatter_dimension_numbers": ScatterNumbers(
            _moved(numbers.update_window_dims),
            _moved(numbers.inserted_window_dims),
            (0, *_moved(numbers.input_batching_dims)),
            (0, *_moved(numbers.scatter_indices_batching_dims)),
            _moved(numbers.scatter_dims_to_operand_dims),
            numbers.index_vector_dim + 1,
        )
    }


def _window(op: Any, count: int) -> dict[str, Any]:
    fields = {attribute.name for attribute in op.declared_attributes}
    stated = {name: getattr(op, name) for name in STEPS if name in fields}
    changed: dict[str, Any] = {name: (1, *axes) for name, axes in stated.items() if axes}
    if op.padding:
        changed["padding"] = ((0, 0), *op.padding)
    return changed


def _convolution(op: convolutions.Convolution, count: int) -> dict[str, Any]:
    """The samples are an axis of space, along which the kernel has an extent of one."""
    numbers = op.dimension_numbers
    moved: list[Any] = [
        (0, *_moved(each)) if isinstance(each, tuple) else each + 1 for each in numbers
    ]
    changed = {**_window(op, count), "dimension_numbers": ConvolutionNumbers(*moved)}
    if op.window_reversal:
        changed["window_reversal"] = (False, *op.window_reversal)
    return changed


RULES: Final[Mapping[type[Definition], Rule]] = {
    contraction.DotGeneral: _dot,
    convolutions.Convolution: _convolution,
    gathering.Gather: _gather,
    layout.BroadcastInDim: lambda op, count: {
        "broadcast_dimensions": (0, *_moved(op.broadcast_dimensions))
    },
    layout.Concatenate: lambda op, count: {"dimension": op.dimension + 1},
    layout.Pad: _pad,
    layout.Reshape: _nothing,
    layout.Reverse: lambda op, count: {"dimensions": _moved(op.dimensions)},
    layout.Transpose: lambda op, count: {"permutation": (0, *_moved(op.permutation))},
    linear_algebra.Cholesky: _nothing,
    linear_algebra.Fft: _nothing,
    linear_algebra.TriangularSolve: _nothing,
    reduction.Reduce: lambda op, count: {"dimensions": _moved(op.dimensions)},
    scattering.Scatter: _scatter,
    slicing.DynamicSlice: lambda op, count: {"slice_sizes": (count, *op.slice_sizes)},
    slicing.DynamicUpdateSlice: _nothing,
    slicing.Slice: _slice,
    sorting.Sort: lambda op, count: {
        "dimension": op.dimension + 1 if op.dimension >= 0 else op.dimension
    },
    windows.ReduceWindow: _window,
    windows.SelectAndScatter: _window,
}
