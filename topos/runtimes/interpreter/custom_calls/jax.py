"""Custom calls of jax beside LAPACK's: placements, sizes that must hold, selections, functions.

The functions are those that texts of before their operations carry as custom calls. The approximate
selections are exact here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from topos.errors import ExecutionError
from topos.payload.kernels import maps
from topos.payload.kernels.canonical import Array
from topos.payload.kernels.conversion import convert
from topos.payload.kernels.mapping import mapped
from topos.runtimes._signature import ArrayType
from topos.runtimes.interpreter.custom_calls.call import (
    Called,
    CustomCall,
    Target,
    options_complaint,
)
from topos.runtimes.interpreter.kernels.chlo_functions import CURVES
from topos.stablehlo.dialect.chlo_functions import Erf


def _allocated(call: CustomCall) -> list[Array]:
    """Returns memory whose content is of no meaning, so that every run is the same."""
    return [np.zeros(stated.shape, stated.dtype) for stated in call.results]


def _placed(call: CustomCall, operands: Sequence[ArrayType]) -> str:
    if len(operands) != len(call.results):
        return f"needs a result for each of its {len(operands)} operands, got {len(call.results)}"
    return ""


def _alone(call: CustomCall, operands: Sequence[ArrayType]) -> str:
    return f"needs 0 operands, got {len(operands)}" if operands else ""


_SAME: Final = Target(lambda call, *operands: operands, _placed)

_PLACE: Final = re.compile(r"\{(\d+)\}")


def _shape_assertion(call: CustomCall, holds: Array, *numbers: Array) -> tuple[()]:
    if holds.all():
        return ()
    message = str(call.attributes.get("error_message", "a shape assertion does not hold"))
    raise ExecutionError(_PLACE.sub(lambda place: _shown(place, numbers), message))


def _shown(place: re.Match[str], numbers: tuple[Array, ...]) -> str:
    index = int(place[1])
    return str(numbers[index].tolist()) if index < len(numbers) else place[0]


def _asserted(call: CustomCall, operands: Sequence[ArrayType]) -> str:
    if not operands or operands[0].dtype != np.bool_:
        got = operands[0] if operands else "none"
        return f"needs a truth value as its first operand, got {got}"
    return f"needs 0 results, got {len(call.results)}" if call.results else ""


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

Each = Callable[[Array], Array]


def _applied(real: Each, complex: Each | None, call: CustomCall, operand: Array) -> Array:
    """Computes in double precision and rounds once."""
    if np.iscomplexobj(operand):
        assert complex, "the check refuses it"
        wide = complex(operand.astype(np.complex128).reshape(-1))
        return wide.astype(operand.dtype).reshape(operand.shape)
    return convert(real(operand.astype(np.float64)), operand.dtype)


def _alike(complex: Each | None, call: CustomCall, operands: Sequence[ArrayType]) -> str:
    if len(operands) != 1 or list(operands) != list(call.results):
        return f"needs one operand and one result of its type, got {len(operands)} operands"
    kind = operands[0].dtype.kind
    if kind in "biu" or (kind == "c" and complex is None):
        return f"takes no elements of {operands[0].dtype}"
    return ""


_FUNCTIONS: Final[Mapping[str, tuple[Each, Each | None]]] = {
    Erf.operation_name: (maps.erf, None),
    **{each.operation_name: (partial(mapped, real), of) for each, (real, of) in CURVES.items()},
}

TARGETS: Final[Mapping[str, Target]] = {
    "AllocateBuffer": Target(_allocated, _alone),
    "SPMDFullToShardShape": _SAME,
    "SPMDShardToFullShape": _SAME,
    "Sharding": _SAME,
    "annotate_device_placement": _SAME,
    "shape_assertion": Target(_shape_assertion, _asserted),
    "xla.sdy.FuncResultSharding": _SAME,
    "xla.sdy.GlobalToLocalShape": _SAME,
    "xla.sdy.LocalToGlobalShape": _SAME,
    "xla.sdy.Sharding": _SAME,
    "ApproxTopK": _APPROXIMATE,
    "mhlo.topk": _EXACT,
    "stablehlo.dynamic_approx_top_k": _APPROXIMATE,
    "stablehlo.dynamic_top_k": _EXACT,
    **{
        name.replace("chlo", "mhlo"): Target(
            partial(_applied, real, complex), partial(_alike, complex)
        )
        for name, (real, complex) in _FUNCTIONS.items()
    },
}
