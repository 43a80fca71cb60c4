"""Contraction: dot_general as the oracle's batched product."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels.product import matmul
from topos.runtimes._stablehlo.operations.conversion import converter
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.syntax import Tensor
from topos.runtimes._stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Axes = tuple[int, ...]

_PRECISIONS: Final = frozenset({"DEFAULT", "HIGH", "HIGHEST"})


def _dot_general(site: Site) -> Kernel:
    site.takes(2)
    _demand_precision(site)
    left, right = site.operands
    numbers = site.attribute("dot_dimension_numbers")
    if not isinstance(numbers, dict):
        site.refuse("needs dot_dimension_numbers = #stablehlo.dot<...>")
    batch, contracted = (
        tuple(_axes(site, numbers, f"{side}_{kind}_dimensions") for side in ("lhs", "rhs"))
        for kind in ("batching", "contracting")
    )
    free = tuple(
        _free(site, operand, (*batch[side], *contracted[side]))
        for side, operand in enumerate((left, right))
    )
    return _product(site, batch, contracted, free)


def _demand_precision(site: Site) -> None:
    """Refuses what is no precision; each precision, and each algorithm, allows the exact steps."""
    words = site.operation.attributes.get("precision_config", ())
    known = isinstance(words, tuple) and set(words) <= _PRECISIONS and len(words) <= 2
    site.demand(known, f"needs up to two of {' '.join(sorted(_PRECISIONS))}, got {words}")


def _axes(site: Site, numbers: Mapping[str, Any], key: str) -> Axes:
    return site.integers_of(numbers.get(key, ()), key)


def _free(site: Site, operand: Tensor, used: Axes) -> Axes:
    rank = len(operand.shape)
    site.axes("batching and contracting dimensions", used, rank)
    return tuple(axis for axis in range(rank) if axis not in used)


def _product(
    site: Site, batch: tuple[Axes, ...], contracted: tuple[Axes, ...], free: tuple[Axes, ...]
) -> Kernel:
    left, right = site.operands
    (result,) = site.results
    shapes = (extents(left), extents(right))
    for first, second in (batch, contracted):
        site.demand(
            [shapes[0][axis] for axis in first] == [shapes[1][axis] for axis in second],
            f"cannot contract {left} along {list(first)} with {right} along {list(second)}",
        )
    same = left.element == right.element
    site.demand(same, f"needs operands of one element, got {left} and {right}")
    batches, rows = ([shapes[0][axis] for axis in part[0]] for part in (batch, free))
    columns = [shapes[1][axis] for axis in free[1]]
    depth = math.prod(shapes[0][axis] for axis in contracted[0])
    shape = (*batches, *rows, *columns)
    site.yields(Tensor(shape, result.element))
    source, target = dtype_of(left), dtype_of(result)
    # A wider result is accumulated in its own format, a narrower one rounded at the end.
    before = target if target.itemsize > source.itemsize else source
    return _Contraction(
        enter=converter(source, before),
        leave=converter(before, target),
        left=(*batch[0], *free[0], *contracted[0]),
        right=(*batch[1], *contracted[1], *free[1]),
        rows=(math.prod(batches), math.prod(rows), depth),
        columns=(math.prod(batches), depth, math.prod(columns)),
        shape=shape,
    )


@dataclass(frozen=True, slots=True)
class _Contraction:
    """The product with its operands brought to [batch, rows, depth] and [batch, depth, columns]."""

    enter: Kernel
    leave: Kernel
    left: Axes
    right: Axes
    rows: Axes
    columns: Axes
    shape: Axes

    def __call__(self, left: Array, right: Array) -> Array:
        first = self.enter(left).transpose(self.left).reshape(self.rows)
        second = self.enter(right).transpose(self.right).reshape(self.columns)
        result = np.asarray(self.leave(matmul(first, second)))
        return result.reshape(self.shape)


def _dot(site: Site) -> Kernel:
    """Builds the older form: the last axis of the left by the first of the right."""
    site.takes(2)
    _demand_precision(site)
    left, right = site.operands
    ranks = (len(left.shape), len(right.shape))
    site.demand(set(ranks) <= {1, 2}, f"needs vectors or matrices, got {left} and {right}")
    free = (tuple(range(ranks[0] - 1)), tuple(range(1, ranks[1])))
    return _product(site, ((), ()), ((ranks[0] - 1,), (0,)), free)


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
}
