"""The rounding noise of an operation: how far a sound runtime's result may lie from the exact one.

It follows from what runtimes are free to do: approximate a map to a few units in the last place,
sum in any order, contract a product with a sum. An operation's definition says by its `rounding`
which of them holds of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from topos.judge.samples.formats import NATIVE, has_floats, is_complex, is_floating, magnitude, unit
from topos.judge.samples.sampling import Sampling
from topos.judge.samples.sums import Added
from topos.runtimes.interpreter.program import Array, Kernel, Program
from topos.stablehlo.definition import Definition
from topos.stablehlo.rounding import (
    Exact,
    OfBody,
    OfOperands,
    Once,
    Sums,
    Transform,
    Units,
)
from topos.stablehlo.types import dtype_of

# Takes the operands and a result, all with the axis of samples in front, and returns the result
# with noise; it may write over that result.
# `run` is the operation's own kernel, for operands that have the axis too.
Noise = Callable[[Sequence[Array], Array, Kernel], Array]

# What a body other than a sum makes of an element, in units.
BODY: Final = 4.0
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
HAS_LONGER: Final = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps


def noise_of(
    op: Definition, place: int, regions: Sequence[Program], sampling: Sampling
) -> Noise | None:
    """Returns the noise of the result at `place`, or `None` where nothing rounds."""
    result: Any = op.results[place]
    if not has_floats(result):
        return None
    dtype = dtype_of(result)
    match op.rounding:
        case Once(exact):
            return _once(op, exact, dtype, sampling)
        case Units(count, of_one, complex_alone):
            is_exact = complex_alone and not is_complex(op.operands[0])
            return None if is_exact else _units(count, of_one, dtype, sampling)
        case Sums(products):
            return Added(products, dtype, sampling)
        case OfBody():
            return _of_body(regions[-1], dtype, sampling)
        case Transform(lengths):
            return _transformed(getattr(op, lengths), dtype, sampling)
    return None


def disturbed(op: Definition, sampling: Sampling) -> Callable[[Array], Array] | None:
    """Returns the noise of an operand for an operation whose own noise is told by its operands'."""
    if not isinstance(op.rounding, OfOperands):
        return None
    units, of_largest = op.rounding.units, op.rounding.of_largest

    def moved(operand: Array) -> Array:
        if not is_floating(operand.dtype):
            return operand
        moduli = magnitude(operand)
        inside = tuple(range(max(1, moduli.ndim - 2), moduli.ndim))
        largest = moduli.max(axis=inside, keepdims=True, initial=0.0) if inside else moduli
        scale = unit(operand.dtype) * (units * moduli + of_largest * largest)
        return sampling.mover(operand.dtype)(operand, scale)

    return moved


def _units(count: float, of_one: float, dtype: np.dtype[Any], sampling: Sampling) -> Noise:
    """Returns the noise of so many units of the result, and of 1 or a smaller operand."""
    eps = unit(dtype)
    if of_one:
        wider = sampling.mover(dtype)
        return lambda operands, result, run: wider(
            result,
            eps * (count * magnitude(result) + of_one * np.minimum(magnitude(operands[0]), 1)),
        )
    if dtype.kind == "c" or dtype == DOUBLE:
        moved = sampling.mover(dtype)
        return lambda operands, result, run: moved(result, eps * count * magnitude(result))
    # An infinity times a factor is itself, so nothing asks for one.
    factors = sampling.stream(1.0, count * eps, DOUBLE)
    return lambda operands, result, run: (
        result.astype(SINGLE, copy=False) * factors.over(result)
    ).astype(dtype)


def _once(
    op: Definition, exact: Callable[..., Array], dtype: np.dtype[Any], sampling: Sampling
) -> Noise | None:
    """Returns the noise of one unit where the result is not the exact one."""
    operands: Any = op.operands
    taken = [dtype_of(each) for each in operands]
    moved = _units(1, 0, dtype, sampling)
    if taken != [dtype] * len(taken) and any(map(_holds(dtype), taken)):
        # A conversion that loses nothing, or of integers, which every runtime rounds to nearest.
        return None
    if dtype == SINGLE and all(each in NATIVE for each in taken):
        return _once_single(exact, sampling)
    if unit(dtype) <= unit(DOUBLE) and not HAS_LONGER:
        return moved
    is_complex, double = dtype.kind == "c", unit(dtype) <= unit(DOUBLE)
    kinds = (np.clongdouble, np.longdouble) if double else (np.complex128, np.float64)
    wider = kinds[not is_complex]

    def noise(operands: Sequence[Array], result: Array, run: Kernel) -> Array:
        wide = [(each if is_complex else each.real).astype(wider) for each in operands]
        inexact = exact(*wide) != result.astype(wider)
        if not np.count_nonzero(inexact):
            return result
        return np.where(inexact, moved(operands, result, run), result)

    return noise


def _once_single(exact: Callable[..., Array], sampling: Sampling) -> Noise:
    """Returns what `_once` does for single precision, in as few calls of numpy as there are."""
    parts = sampling.stream(0.0, unit(SINGLE), DOUBLE)

    def noise(operands: Sequence[Array], result: Array, run: Kernel) -> Array:
        inexact = np.not_equal(exact(*operands, dtype=DOUBLE), result)
        if not np.count_nonzero(inexact):
            return result
        # A choice by the mask would branch at each element, and an infinity has no part to add.
        factors = parts.over(result) * inexact
        factors += 1.0
        moved: Array = np.multiply(factors, result, out=factors).astype(SINGLE)
        return moved

    return noise


def _holds(dtype: np.dtype[Any]) -> Callable[[np.dtype[Any]], bool]:
    """Returns whether a dtype holds the numbers of another, of which integers are not asked."""
    return lambda taken: not is_floating(taken) or unit(taken) >= unit(dtype)


def _of_body(body: Program, dtype: np.dtype[Any], sampling: Sampling) -> Noise | None:
    """Returns the noise of what applies a body to many elements."""
    if body.only is not None and body.only.rounding == Once(np.add):
        return Added(False, dtype, sampling)
    exact = all(
        isinstance(op.rounding, Exact) or not any(map(has_floats, op.results))
        for op in body.operations
    )
    return None if exact else _units(BODY, 0, dtype, sampling)


def _transformed(lengths: Sequence[int], dtype: np.dtype[Any], sampling: Sampling) -> Noise:
    axes = tuple(range(-len(lengths), 0))
    steps = unit(dtype) * max(1.0, math.log2(max(2, math.prod(lengths))))
    moved = sampling.mover(dtype)

    def noise(operands: Sequence[Array], result: Array, run: Kernel) -> Array:
        mean = np.sqrt(np.mean(magnitude(result) ** 2, axis=axes, keepdims=True))
        return moved(result, steps * mean)

    return noise
