"""Reduction along axes by any body: the fixed tree of halves, the initial value once at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import reduction
from topos.runtimes._stablehlo.operations.bits import LOGIC
from topos.runtimes._stablehlo.operations.bodies import (
    Combiner,
    combiner,
    demand_body,
    demand_promotion,
)
from topos.runtimes._stablehlo.operations.conversion import converted
from topos.runtimes._stablehlo.operations.elementwise import kernel_of
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.syntax import Tensor
from topos.runtimes._stablehlo.types import dtype_of, extents, is_float

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Axes = tuple[int, ...]

_EXTREMES: Final[Mapping[str, Kernel]] = {
    "stablehlo.maximum": reduction.maximum,
    "stablehlo.minimum": reduction.minimum,
}
_ORDERLESS: Final[Mapping[str, np.ufunc]] = {
    "stablehlo.add": np.add,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.multiply": np.multiply,
    **LOGIC,
}


def _reduce(site: Site) -> Kernel:
    count = len(site.operands) // 2
    site.demand(
        count and len(site.operands) == 2 * count and len(site.results) == count,
        f"needs an initial value for each operand and as many results,"
        f" got {len(site.operands)} values and {len(site.results)} results",
    )
    operands, starts = site.operands[:count], site.operands[count:]
    shape = extents(operands[0])
    axes = site.axes("dimensions", tuple(sorted(site.integers("dimensions"))), len(shape))
    kept = tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
    for operand, start, result in zip(operands, starts, site.results, strict=True):
        site.demand(operand.shape == shape, f"needs operands of one shape, got {operand}")
        site.demand(
            start == Tensor((), operand.element), f"needs a scalar {operand.element}, got {start}"
        )
        demand_promotion(site, operand, result)
        wanted = Tensor(kept, result.element)
        site.demand(result == wanted, f"results in {wanted}, got {result}")
    site.demand(len(site.regions) == 1, f"needs one region, got {len(site.regions)}")
    demand_body(site, site.regions[0], site.results)
    dtypes = tuple(dtype_of(result) for result in site.results)
    general = _Halving(combiner(site.regions[0]), dtypes, axes)
    return _direct(site, operands[0], axes) or general


def _direct(site: Site, operand: Tensor, axes: Axes) -> Kernel | None:
    """Returns a kernel with the bits of the tree for a body of one well-known operation."""
    name = site.regions[0].only
    if site.results[0].element != operand.element:
        return None
    combine = LOGIC.get(name) or kernel_of(name, operand.element)
    if combine is None:
        return None
    if not is_float(operand):
        # Without rounding there is no order to keep.
        if name not in _ORDERLESS:
            return None
        return partial(_reduced, _ORDERLESS[name], combine, axes)
    if name in _EXTREMES:
        return partial(_extreme, _EXTREMES[name], combine, axes)
    start = site.constants[1]
    # The oracle's sum starts at +0; the 16-bit floats keep its float32 sum for one rounding,
    # which a body that rounds at every step has not.
    wide = operand.element in ("f32", "f64")
    if name == "stablehlo.add" and wide and start is not None and not any(start.tobytes()):
        return partial(_summed, axes)
    return None


def _reduced(ufunc: np.ufunc, combine: Kernel, axes: Axes, array: Array, start: Array) -> Array:
    if array.dtype == np.bool_ and ufunc in (np.add, np.multiply):
        ufunc = np.logical_or if ufunc is np.add else np.logical_and
    if not all(array.shape[axis] for axis in axes):
        kept = [extent for axis, extent in enumerate(array.shape) if axis not in axes]
        return np.broadcast_to(start, kept)
    return np.asarray(combine(start, _along(ufunc, array, axes)))


def _along(ufunc: np.ufunc, array: Array, axes: Axes) -> Array:
    for axis in reversed(axes):
        # Without a dtype numpy would sum narrow integers in wide ones.
        array = np.asarray(ufunc.reduce(array, axis=axis, dtype=array.dtype))
    return array


def _extreme(whole: Kernel, combine: Kernel, axes: Axes, array: Array, start: Array) -> Array:
    result: Array = combine(start, whole(array, axes))
    return result


def _summed(axes: Axes, array: Array, start: Array) -> Array:
    return reduction.sum(array, axes)


@dataclass(frozen=True, slots=True)
class _Halving:
    """Any body, over operands that are reduced together."""

    combine: Combiner
    dtypes: tuple[np.dtype[Any], ...]
    axes: Axes

    def __call__(self, *values: Array) -> Any:
        count = len(self.dtypes)
        captures = values[2 * count :]
        arrays, starts = (
            [converted(value, dtype) for value, dtype in zip(part, self.dtypes, strict=True)]
            for part in (values[:count], values[count : 2 * count])
        )
        results = reduction.reduce_by_halves(
            arrays, starts, self.axes, lambda left, right: self.combine(left, right, captures)
        )
        return results if count > 1 else results[0]


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.reduce": _reduce}
