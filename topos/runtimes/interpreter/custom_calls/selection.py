"""The first elements of an order along an axis; the approximate ones are exact here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from topos.errors import ExecutionError
from topos.payload.kernels.canonical import Array
from topos.runtimes._signature import ArrayType
from topos.runtimes.interpreter.custom_calls.call import (
    Called,
    CustomCall,
    Target,
    options_complaint,
)

__all__ = ["TARGETS"]


def _approx_top_k(call: CustomCall, *operands: Array) -> list[Array]:
    """Takes arrays, then as many initial values, which an exact selection does not need."""
    (before,) = call.called
    axis = call.configuration["reduction_dim"]
    arrays = [np.moveaxis(operand, axis, -1) for operand in operands[: len(call.results)]]
    count = call.results[0].shape[axis]
    chosen = _first(before, arrays, count)
    return [np.moveaxis(np.take_along_axis(array, chosen, -1), -1, axis) for array in arrays]


def _first(before: Called, arrays: Sequence[Array], count: int) -> Array:
    """Returns the places of the first `count` elements of the last axis, in their order.

    Of elements that neither come before the other, the one that stands first does.
    """
    *batch, extent = arrays[0].shape
    left = np.broadcast_to(np.arange(extent), (*batch, extent))
    chosen = np.empty((*batch, count), np.int64)
    for place in range(count):
        best = _foremost(before, arrays, left)
        chosen[..., place] = best
        left = left[left != best[..., None]].reshape(*batch, extent - place - 1)
    return chosen


def _foremost(before: Called, arrays: Sequence[Array], places: Array) -> Array:
    while places.shape[-1] > 1:
        half = places.shape[-1] // 2
        first, second = places[..., :half], places[..., half : 2 * half]
        swapped = _precedes(before, arrays, second, first)
        tied = ~swapped & ~_precedes(before, arrays, first, second)
        swapped |= tied & (second < first)
        winners = np.where(swapped, second, first)
        places = np.concatenate([winners, places[..., 2 * half :]], axis=-1)
    return np.asarray(places[..., 0])


def _precedes(before: Called, arrays: Sequence[Array], first: Array, second: Array) -> Array:
    # The function takes two elements of the first array, then two of the next.
    pairs = [np.take_along_axis(array, at, -1) for array in arrays for at in (first, second)]
    results = before(*pairs)
    if len(results) != 1 or results[0].dtype != np.bool_:
        got = ", ".join(str(result.dtype) for result in results)
        raise ExecutionError(f"an approximate selection needs a function to i1, got one to {got}")
    return results[0]


def _top_k(call: CustomCall, operand: Array, *count: Array) -> tuple[Array, Array]:
    """Selects along the last axis; not-a-number counts as the largest, ties keep their order."""
    options = call.attributes.get("mhlo.attributes", {})
    wanted = call.results[0].shape[-1]
    extent = operand.shape[-1]
    if options.get("largest", True):
        backwards = np.argsort(operand[..., ::-1], axis=-1, kind="stable")
        order = extent - 1 - backwards[..., ::-1]
    else:
        order = np.argsort(operand, axis=-1, kind="stable")
    places = order[..., :wanted]
    return np.take_along_axis(operand, places, -1), places.astype(call.results[1].dtype)


def _approximate(call: CustomCall, operands: Sequence[ArrayType]) -> str:
    count = len(call.results)
    if len(call.called) != 1:
        return f"needs one function as called_computations, got {len(call.called)}"
    if not count or len(operands) < 2 * count:
        return f"needs two operands for each result, got {len(operands)} for {count}"
    found = options_complaint(call.configuration, {"reduction_dim": int})
    if found:
        return found
    axis, rank = call.configuration["reduction_dim"], len(operands[0].shape)
    if not 0 <= axis < rank:
        return f"needs an axis below {rank} as reduction_dim of its backend_config, got {axis}"
    shape = _shortened(operands[0].shape, axis, call.results[0].shape)
    wanted = [ArrayType(shape, operand.dtype) for operand in operands[:count]]
    alike = all(operand.shape == operands[0].shape for operand in operands[:count])
    return "" if alike and wanted == list(call.results) else _mismatch(operands[:count], call)


def _top(call: CustomCall, operands: Sequence[ArrayType]) -> str:
    if len(operands) not in (1, 2) or len(call.results) != 2:
        got = f"{len(operands)} and {len(call.results)}"
        return f"needs 1 or 2 operands and 2 results, got {got}"
    options = call.attributes.get("mhlo.attributes", {})
    if not isinstance(options, Mapping) or type(options.get("largest", True)) is not bool:
        return f"needs a truth value as largest of its mhlo.attributes, got {options}"
    (array, *_), (values, places) = operands, call.results
    if not array.shape:
        return f"needs an operand of rank 1 or more, got {array}"
    shape = _shortened(array.shape, len(array.shape) - 1, values.shape)
    alike = values == ArrayType(shape, array.dtype) and places.shape == shape
    if not alike or places.dtype.kind not in "iu" or array.dtype.kind == "c":
        return _mismatch([array], call)
    return ""


def _shortened(shape: tuple[int, ...], axis: int, stated: tuple[int, ...]) -> tuple[int, ...]:
    """Returns `shape` with the extent of `axis` that is stated, or its own where that is more."""
    extent = stated[axis] if axis < len(stated) else shape[axis]
    return (*shape[:axis], min(extent, shape[axis]), *shape[axis + 1 :])


def _mismatch(operands: Sequence[ArrayType], call: CustomCall) -> str:
    types = [", ".join(map(str, types)) for types in (operands, call.results)]
    return (
        f"needs results that are part of its operands along one axis, got {types[1]} of {types[0]}"
    )


_APPROXIMATE: Final = Target(_approx_top_k, _approximate)
_EXACT: Final = Target(_top_k, _top)
TARGETS: Final[Mapping[str, Target]] = {
    "ApproxTopK": _APPROXIMATE,
    "mhlo.topk": _EXACT,
    "stablehlo.dynamic_approx_top_k": _APPROXIMATE,
    "stablehlo.dynamic_top_k": _EXACT,
}
