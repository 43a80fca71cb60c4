"""Twins: compiled kernels beside the kernels of the oracle that they repeat to the bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from topos.backend.formula import Formula
from topos.op import Array
from topos.payload import Shape, size, without
from topos.payload.kernels import maps, product, reduction
from topos.payload.kernels.canonical import canonical
from topos.payload.kernels.expansion import CENTERS_PER_UNIT, tanh_expansions
from topos.payload.kernels.exponential import exponential_table
from topos.payload.kernels.logarithm import logarithm_table

Quick = Callable[[Array, Array, Array], None]

_WIDE: Final = np.dtype(np.float64)
_FLOATS: Final = (np.dtype(np.float32), _WIDE)


class Twin(NamedTuple):
    """A compiled kernel beside the oracle's, where it serves, and operands to check it on.

    There is a tuple of operands for each path through the compiled code. `repays` is the work of
    one task, in flops or elements, from which the oracle uses it: `tools/bench/first_use.py`.
    """

    kernel: Callable[..., Array]
    reference: Callable[..., Array]
    dtypes: tuple[np.dtype[Any], ...]
    operands: Callable[[np.dtype[Any]], list[tuple[Any, ...]]]
    repays: int

    @property
    def name(self) -> str:
        """The name of the oracle's kernel."""
        return f"{self.reference.__module__}.{self.reference.__name__}"


@np.errstate(all="ignore")
def matmul(left: Array, right: Array, out: Array | None = None) -> Array:
    """Returns what the kernel `product.matmul` does, for float32 and float64, in `out` if given.

    `out` shares no memory with the operands.
    """
    from topos.backend.compiled.product import matmul as compiled

    (rows, depth), columns = left.shape[-2:], right.shape[-1]
    row_cuts = [slice(None)] if left.flags.c_contiguous else product.cuts(left, -2)
    column_cuts = [slice(None)] if right.flags.c_contiguous else product.cuts(right, -1)
    if out is None and len(row_cuts) * len(column_cuts) > 1:
        return product.in_parts(matmul, left, right, row_cuts, column_cuts)
    batch = math.prod(left.shape[:-2])
    first = np.ascontiguousarray(left).reshape(batch, rows, depth)
    second = np.ascontiguousarray(right).reshape(batch, depth, columns)
    shape = (*left.shape[:-1], columns)
    total = np.empty(shape, left.dtype) if out is None or not out.flags.c_contiguous else out
    compiled(first, second, total.reshape(batch, rows, columns))
    canonical(total)
    if out is None or out is total:
        return total
    np.copyto(out, total)
    return out


@np.errstate(all="ignore")
def sum_(array: Array, axes: tuple[int, ...]) -> Array:
    """Returns what the kernel `reduction.sum` does; compiled where trailing axes are reduced."""
    if not sums_rows(array.shape, axes) or not array.flags.c_contiguous:
        return reduction.sum(array, axes)
    from topos.backend.compiled.product import sum_rows

    terms = math.prod(array.shape[axis] for axis in axes)
    sums = sum_rows(array.reshape(-1, terms))
    return canonical(sums).reshape(without(array.shape, axes))


def sums_rows(shape: Shape, axes: tuple[int, ...]) -> bool:
    """Returns whether `axes` are trailing ones, some but not all, of a tensor with elements."""
    rank = len(shape)
    trailing = 0 < len(axes) < rank and axes == tuple(range(rank - len(axes), rank))
    return trailing and size(shape) > 0


def exp(array: Array) -> Array:
    """Returns what the kernel `maps.exp` does, for float64."""
    from topos.backend.compiled.maps import quick_exp

    table = exponential_table()
    scale = (table.head, table.tail, table.step, table.steps_per_unit, _powers_of_two())
    return _settled(maps.exp, array, lambda x, y, lanes: quick_exp(x, *scale, y, lanes))


def ln(array: Array) -> Array:
    """Returns what the kernel `maps.ln` does, for float64."""
    from topos.backend.compiled.maps import quick_ln

    table = tuple(logarithm_table())
    return _settled(
        maps.ln, array, lambda x, y, lanes: quick_ln(x, x.view(np.int64), *table, y, lanes)
    )


def tanh(array: Array) -> Array:
    """Returns what the kernel `maps.tanh` does, for float64."""
    from topos.backend.compiled.maps import quick_tanh

    table = tanh_expansions()
    columns = (table.coefficients, table.slope_head, table.slope_tail, table.value_tail)
    scale = (*columns, table.last, float(CENTERS_PER_UNIT))
    return _settled(maps.tanh, array, lambda x, y, lanes: quick_tanh(x, *scale, y, lanes))


@cache
def _powers_of_two() -> Array:
    """Returns 2**-1074 to 2**1023, each exact."""
    return np.ldexp(1.0, np.arange(-1074, 1024))


def _settled(reference: Callable[[Array], Array], array: Array, quick: Quick) -> Array:
    """Returns the map of `array`: the lanes that `quick` leaves open are the kernel's to settle."""
    values = np.ascontiguousarray(array).reshape(-1)
    result, lanes = np.empty(values.size), np.empty(values.size, np.bool_)
    quick(values, result, lanes)
    if lanes.any():
        result[lanes] = reference(values[lanes])
    return result.reshape(array.shape)


def _matrices(dtype: np.dtype[Any]) -> list[tuple[Any, ...]]:
    # Many columns, few columns, and more steps than the kernel for few columns takes.
    shapes = (9, 133, 270), (70, 9, 5), (70, 1030, 5)
    return [
        (
            _numbers(rows * depth).reshape(rows, depth).astype(dtype),
            _numbers(depth * columns).reshape(depth, columns).astype(dtype),
        )
        for rows, depth, columns in shapes
    ]


def _rows(dtype: np.dtype[Any]) -> list[tuple[Any, ...]]:
    return [(_numbers(7 * 301).reshape(7, 301).astype(dtype), (1,))]


def _arguments(dtype: np.dtype[Any]) -> list[tuple[Any, ...]]:
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e-20, 1e308, -745.0, 709.9]
    return [(np.concatenate([ends, _numbers(4096), 300.0 * _numbers(512)]).astype(dtype),)]


def _numbers(count: int) -> Array:
    """Returns numbers between -2 and 2 from integers alone, the same on every machine."""
    steps = (np.arange(count, dtype=np.int64) * 0x9E3779B1) % (1 << 31)
    return steps / np.float64(1 << 29) - 2.0


TWINS: Final[dict[Formula, Twin]] = {
    Formula.GEMM: Twin(matmul, product.matmul, _FLOATS, _matrices, 1 << 25),
    Formula.SUM: Twin(sum_, reduction.sum, _FLOATS, _rows, 1 << 24),
    Formula.EXP: Twin(exp, maps.exp, (_WIDE,), _arguments, 1 << 19),
    Formula.LN: Twin(ln, maps.ln, (_WIDE,), _arguments, 1 << 19),
    Formula.TANH: Twin(tanh, maps.tanh, (_WIDE,), _arguments, 1 << 19),
}
"""The twin of each formula that has one."""
