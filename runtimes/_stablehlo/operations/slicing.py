"""Slices whose place is computed: reading one, and writing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.syntax import Tensor
from topos.runtimes._stablehlo.types import extents, is_float

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def _dynamic_slice(site: Site) -> Kernel:
    site.demand(site.operands, "needs an operand, got 0")
    shape = extents(site.operands[0])
    site.takes(1 + len(shape))
    _demand_indices(site, site.operands[1:])
    sizes = site.integers("slice_sizes")
    site.demand(
        len(sizes) == len(shape)
        and all(0 <= size <= extent for size, extent in zip(sizes, shape, strict=True)),
        f"needs sizes within {site.operands[0]}, got {list(sizes)}",
    )
    site.yields(site.operands[0]._replace(shape=sizes))
    return partial(_read, sizes)


def _dynamic_update_slice(site: Site) -> Kernel:
    site.demand(len(site.operands) > 1, f"needs 2 operands at least, got {len(site.operands)}")
    operand, update = site.operands[:2]
    shape, sizes = extents(operand), extents(update)
    site.takes(2 + len(shape))
    _demand_indices(site, site.operands[2:])
    fits = len(sizes) == len(shape) and all(
        size <= extent for size, extent in zip(sizes, shape, strict=True)
    )
    site.demand(fits and update.element == operand.element, f"cannot write {update} to {operand}")
    site.yields(operand)
    return _written


def _demand_indices(site: Site, indices: Sequence[Tensor]) -> None:
    for index in indices:
        whole = not is_float(index) and index.element != "i1" and index.shape == ()
        site.demand(whole, f"needs scalar integer indices, got {index}")


def _window(indices: Sequence[Array], sizes: Shape, shape: Shape) -> tuple[slice, ...]:
    """Returns the window of `sizes`, moved inside `shape` where it would reach out of it."""
    starts = [
        min(max(int(index), 0), extent - size)
        for index, size, extent in zip(indices, sizes, shape, strict=True)
    ]
    return tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))


def _read(sizes: Shape, array: Array, *indices: Array) -> Array:
    return array[_window(indices, sizes, array.shape)]


def _written(array: Array, update: Array, *indices: Array) -> Array:
    result = array.copy()
    result[_window(indices, update.shape, array.shape)] = update
    return result


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
}
