"""The first elements of an order along an axis; the approximate ones are exact here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.errors import ExecutionError
from topos.runtimes._stablehlo.custom_calls.call import Called, CustomCall, CustomKernel

__all__ = ["TARGETS"]

Array = npt.NDArray[Any]


def _approx_top_k(call: CustomCall, *operands: Array) -> list[Array]:
    """Takes arrays, then as many initial values, which an exact selection does not need."""
    (before,) = call.called
    axis = call.configuration["reduction_dim"]
    arrays = [np.moveaxis(operand, axis, -1) for operand in operands[: len(call.results)]]
    count = call.results[0].shape[axis]
    if count > arrays[0].shape[-1]:
        raise ExecutionError(
            f"custom_call @{call.target} needs {count} elements or more along axis {axis},"
            f" got {arrays[0].shape[-1]}"
        )
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
    (truth,) = before(*pairs)
    return truth


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


TARGETS: Final[Mapping[str, CustomKernel]] = {
    "ApproxTopK": _approx_top_k,
    "mhlo.topk": _top_k,
    "stablehlo.dynamic_approx_top_k": _approx_top_k,
    "stablehlo.dynamic_top_k": _top_k,
}
