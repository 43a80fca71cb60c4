"""Scatter: updates combined into an operand at computed indices, in row-major order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.operations.bodies import (
    Combiner,
    combiner,
    demand_body,
    demand_promotion,
)
from topos.runtimes._stablehlo.operations.conversion import converted
from topos.runtimes._stablehlo.operations.windows import Windows, sizes_of, windows_of
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Axes = tuple[int, ...]

_KEYS: Final = (
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
)


def _scatter(site: Site) -> Kernel:
    count = (len(site.operands) - 1) // 2
    site.demand(
        count > 0 and len(site.operands) == 2 * count + 1 and len(site.results) == count,
        f"needs operands, indices, as many updates and results, got {len(site.operands)} values",
    )
    _demand_types(site, count)
    operand, indices, update = (site.operands[place] for place in (0, count, count + 1))
    fields = site.attribute("scatter_dimension_numbers")
    if not isinstance(fields, dict):
        site.refuse("needs scatter_dimension_numbers = #stablehlo.scatter<...>")
    shape, key = extents(update), "update_window_dims"
    placed = site.ascending(key, site.integers_of(fields.get(key, ()), key), len(shape))
    window = tuple(shape[axis] for axis in placed)
    sizes = sizes_of(site, fields, _KEYS, len(operand.shape), window)
    windows = windows_of(site, fields, _KEYS, operand, indices, sizes)
    rest = tuple(axis for axis in range(len(shape)) if axis not in placed)
    batch = tuple(shape[axis] for axis in rest)
    site.demand(
        batch == windows.batch, f"needs updates for {list(windows.batch)} indices, got {update}"
    )
    site.demand(len(site.regions) == 1, f"needs one region, got {len(site.regions)}")
    demand_body(site, site.regions[0], site.results)
    dtypes = tuple(dtype_of(result) for result in site.results)
    layout = tuple(int(axis) for axis in np.argsort((*rest, *placed)))
    return _Scatter(windows, layout, extents(operand), combiner(site.regions[0]), dtypes)


def _demand_types(site: Site, count: int) -> None:
    operands, updates = site.operands[:count], site.operands[count + 1 :]
    for operand, update, result in zip(operands, updates, site.results, strict=True):
        same = operand.shape == operands[0].shape and update.shape == updates[0].shape
        site.demand(
            same and operand.element == update.element, f"cannot write {update} to {operand}"
        )
        demand_promotion(site, operand, result)
        promoted = operand._replace(element=result.element)
        site.demand(result == promoted, f"results in {promoted}, got {result}")


@dataclass(frozen=True, slots=True)
class _Scatter:
    """The updates of each element in the order of their places; those outside are dropped."""

    windows: Windows
    layout: Axes
    shape: Axes
    combine: Combiner
    dtypes: tuple[np.dtype[Any], ...]

    def __call__(self, *values: Array) -> Any:
        count = len(self.dtypes)
        arrays, updates = (
            [converted(value, dtype) for value, dtype in zip(part, self.dtypes, strict=True)]
            for part in (values[:count], values[count + 1 : 2 * count + 1])
        )
        captures = values[2 * count + 1 :]
        targets, sources = self._targets(values[count])
        flat = [array.flatten() for array in arrays]
        terms = [update.reshape(-1) for update in updates]
        for places, chosen in _rounds(targets, sources):
            combined = self.combine(
                [array[places] for array in flat], [term[chosen] for term in terms], captures
            )
            for array, result in zip(flat, combined, strict=True):
                array[places] = result
        results = [array.reshape(self.shape) for array in flat]
        return results if count > 1 else results[0]

    def _targets(self, indices: Array) -> tuple[Array, Array]:
        """Returns the flat element that each update falls on, and which update it is."""
        places = self.windows.places(self.windows.starts(indices))
        inside = np.ones(self.windows.shape, np.bool_)
        flat = np.zeros(self.windows.shape, np.int64)
        for place, extent in zip(places, self.shape, strict=True):
            inside &= (place >= 0) & (place < extent)
            flat = flat * extent + place
        # Row-major order is that of the updates as they are given.
        inside, flat = inside.transpose(self.layout), flat.transpose(self.layout)
        sources = np.flatnonzero(inside)
        return flat.reshape(-1)[sources], sources


def _rounds(targets: Array, sources: Array) -> Iterator[tuple[Array, Array]]:
    """Yields rounds in which every element is written at most once, in the updates' order."""
    # A stable sort keeps the order of the updates of one element, and they lie side by side.
    order = np.argsort(targets, kind="stable")
    places, first, counts = np.unique(targets[order], return_index=True, return_counts=True)
    for turn in range(int(counts.max(initial=0))):
        left = counts > turn
        yield places[left], sources[order[first[left] + turn]]


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.scatter": _scatter}
