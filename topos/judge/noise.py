"""The rounding noise of an operation: how far a sound runtime's result may lie from the exact one.

A scale is absolute, one for each element of the result; a sample adds a number drawn from -1 to 1
times the scale. The scales follow from what runtimes are free to do: approximate a map to a few
units in the last place, sum in any order, contract a product with a sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

from topos.runtimes.interpreter.program import Array, Kernel, Program
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import (
    chlo_functions,
    contraction,
    conversion,
    convolutions,
    custom,
    elementwise,
    functions,
    linear_algebra,
    normalization,
    reduction,
    scattering,
    windows,
)

# Takes the operands and the result, all with the axis of samples in front; returns the scale, which
# broadcasts against the result, or `None` where the result is exact.
# `run` is the operation's own kernel, for operands that have the axis too.
Scale = Callable[[Sequence[Array], Array, Kernel], Array | None]

# Units in the last place that a map may be off.
MAPS: Final[Mapping[type[Definition], float]] = {
    elementwise.Atan2: 4,
    elementwise.Divide: 2,
    elementwise.Power: 4,
    functions.Cbrt: 4,
    functions.Exponential: 4,
    functions.ExponentialMinusOne: 6,
    functions.Log: 2,
    functions.LogPlusOne: 4,
    functions.Logistic: 4,
    functions.Rsqrt: 2,
    functions.Sqrt: 1,
    functions.Tan: 4,
    functions.Tanh: 4,
    chlo_functions.Erf: 8,
}
# What CHLO expands to a formula of several operations.
FORMULA: Final = 12.0
EXACT_MAPS: Final = frozenset({chlo_functions.Conj, chlo_functions.NextAfter})
ACCUMULATING: Final = frozenset(
    {reduction.Reduce, scattering.Scatter, windows.ReduceWindow, windows.SelectAndScatter}
)
# What no formula of its own bounds: a sound runtime returns the exact result of operands that are
# a rounding away.
DISTURBED: Final = frozenset(
    {
        linear_algebra.Cholesky, linear_algebra.TriangularSolve, custom.CustomCall,
        normalization.BatchNormGrad, normalization.BatchNormInference,
        normalization.BatchNormTraining,
    }
)  # fmt: skip
EXACT_BODIES: Final = frozenset({elementwise.Maximum, elementwise.Minimum})
# A sum of many terms in another order, and the terms' own magnitude, differ by half a unit a step.
HALF: Final = 0.5 * math.sqrt(3)


class Limits(NamedTuple):
    """The range of a floating-point format: its unit at 1, least, least normal, largest number."""

    eps: float
    least: float
    normal: float
    largest: float


@cache
def limits_of(dtype: np.dtype[Any]) -> Limits:
    """Returns the range of a dtype's numbers, or of the parts of its complex numbers."""
    part: np.dtype[Any] = dtype
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
    known: Any = ml_dtypes
    info = known.finfo(part)
    numbers = (info.eps, info.smallest_subnormal, info.smallest_normal, info.max)
    return Limits(*map(float, numbers))


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Returns whether a dtype is of floats or of complex numbers."""
    return dtype.kind in "fc" or dtype.name.startswith(("bfloat", "float"))


def unit(dtype: np.dtype[Any]) -> float:
    """Returns the distance from 1 to the next number of a dtype."""
    return limits_of(dtype).eps


def magnitude(array: Array) -> Array:
    """Returns the moduli of numbers as float64."""
    return np.abs(wide(array)).astype(np.float64)


def wide(array: Array) -> Array:
    """Returns numbers as float64 or complex128."""
    number: Array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return number


def disturbed(op: Definition) -> Callable[[Array], Array | None] | None:
    """Returns the noise of an operand for an operation whose own noise is told by its operands'."""
    if type(op) not in DISTURBED:
        return None
    spread = 0.0 if isinstance(op, normalization.BatchNormInference) else 0.5

    def scale(operand: Array) -> Array | None:
        if not is_floating(operand.dtype):
            return None
        moduli = magnitude(operand)
        inside = tuple(range(max(1, moduli.ndim - 2), moduli.ndim))
        largest = moduli.max(axis=inside, keepdims=True, initial=0.0) if inside else moduli
        return unit(operand.dtype) * (2 * moduli + spread * largest)

    return scale


def scale_of(op: Definition, regions: Sequence[Program]) -> Scale | None:
    """Returns the noise of an operation, or `None` for one that every runtime computes exactly."""
    if not op.results or not any(has_floats(result) for result in op.results):
        return None
    kind = type(op)
    if kind in (elementwise.Add, elementwise.Subtract):
        return _sum_of_two(np.add if kind is elementwise.Add else np.subtract)
    if kind in (elementwise.Multiply, chlo_functions.Square):
        return _product_of_two
    if kind in (functions.Sine, functions.Cosine):
        return lambda operands, result, run: unit(result.dtype) * (2 * magnitude(result) + 0.5)
    if kind in MAPS:
        return _units(MAPS[kind])
    if kind is conversion.Convert:
        return _narrowed
    if kind in (contraction.DotGeneral, contraction.Dot, convolutions.Convolution):
        return _added(products=True)
    if kind in ACCUMULATING:
        return _accumulated(op, regions[-1])
    if kind is linear_algebra.Fft:
        return _transformed(op)
    if op.operation_name.startswith("chlo.") and kind not in EXACT_MAPS and not op.has_regions:
        return _units(FORMULA)
    return None


def has_floats(type: Any) -> bool:
    """Returns whether a type is of a tensor of floats or complex numbers."""
    return getattr(type, "element", "i")[0] in "fbc"


def _units(count: float) -> Scale:
    return lambda operands, result, run: count * unit(result.dtype) * magnitude(result)


def _sum_of_two(ufunc: np.ufunc) -> Scale:
    def scale(operands: Sequence[Array], result: Array, run: Kernel) -> Array:
        first, second = map(wide, operands)
        total = ufunc(first, second)
        if unit(result.dtype) > unit(np.dtype("f8")):
            inexact = total != wide(result)
        else:
            # What the sum in double precision lost.
            other = second if ufunc is np.add else -second
            part = total - first
            inexact = ((first - (total - part)) + (other - part)) != 0
        return np.where(inexact, unit(result.dtype) * magnitude(result), 0.0)

    return scale


def _product_of_two(operands: Sequence[Array], result: Array, run: Kernel) -> Array:
    first, second = wide(operands[0]), wide(operands[-1])
    if result.dtype.kind == "c":
        return unit(result.dtype) * magnitude(result)
    if unit(result.dtype) > unit(np.dtype("f8")):
        inexact = first * second != wide(result)
    else:
        inexact = np.longdouble(first) * np.longdouble(second) != np.longdouble(wide(result))
    return np.where(inexact, unit(result.dtype) * magnitude(result), 0.0)


def _narrowed(operands: Sequence[Array], result: Array, run: Kernel) -> Array | None:
    (operand,) = operands
    if not is_floating(operand.dtype) or unit(operand.dtype) >= unit(result.dtype):
        return None
    inexact = wide(operand) != wide(result)
    return np.where(inexact, unit(result.dtype) * magnitude(result), 0.0)


def _added(*, products: bool) -> Scale:
    """Returns the noise of what adds terms, or products of terms, in an order of its own.

    It is the r.m.s. error of a sum in random order: the operation itself tells of squared terms how
    large they are, and of ones how many there are. The operands' magnitudes hardly differ from
    sample to sample, so those of the first serve for all.
    """

    # Of operands that are all floats, only their shapes tell how many terms there are.
    counts: list[Array] = []

    def scale(operands: Sequence[Array], result: Array, run: Kernel) -> Array | None:
        first = [each[:1] for each in operands]
        largest = [_largest(each) for each in first]
        count = (
            counts[0] if counts else wide(run(*[_like(each, np.ones_like) for each in first])).real
        )
        if not counts and all(is_floating(each.dtype) for each in first):
            counts.append(count)
        if not products and _is_whole(operands) and _exact(count, largest, result.dtype):
            return None
        # Of numbers around 1, whose squares are in every format's range.
        squared = [
            _squared(wide(each) / size).astype(each.dtype) if size else each
            for each, size in zip(first, largest, strict=True)
        ]
        squares = magnitude(run(*squared)) * math.prod(size for size in largest if size) ** 2
        total = magnitude(result[:1])
        errors = np.where(count > 1, count * (total * total / 3 + squares / 6), 0.0)
        if products:
            errors += squares
        return np.asarray(unit(result.dtype) * HALF * np.sqrt(errors))

    return scale


def _accumulated(op: Definition, body: Program) -> Scale | None:
    """Returns the noise of what combines elements by a body."""
    if body.only is elementwise.Add:
        return _added(products=False)
    # The extremes and what moves elements are exact; any other body is taken for a few roundings.
    return None if body.only in EXACT_BODIES or not body.steps else _units(4)


def _like(array: Array, change: Callable[[Array], Array]) -> Array:
    return change(array) if is_floating(array.dtype) else array


def _squared(array: Array) -> Array:
    moduli = np.abs(array)
    return np.asarray(moduli * moduli)


def _largest(array: Array) -> float:
    """Returns the largest finite modulus, 1 where all are zero, and 0 for what is no float."""
    if not is_floating(array.dtype):
        return 0.0
    moduli = magnitude(array)
    return float(moduli.max(where=np.isfinite(moduli), initial=0.0)) or 1.0


def _is_whole(operands: Sequence[Array]) -> bool:
    numbers = [each for each in operands if is_floating(each.dtype)]
    return all(
        each.dtype.kind != "c" and bool((wide(each) == np.rint(wide(each))).all())
        for each in numbers
    )


def _exact(count: Array, largest: Sequence[float], dtype: np.dtype[Any]) -> bool:
    """Returns whether a dtype holds every sum of so many whole numbers exactly."""
    return float(np.max(count, initial=0.0)) * max(largest, default=0.0) < 1 / unit(dtype)


def _transformed(op: Definition) -> Scale:
    transform: Any = op
    lengths = transform.fft_length
    axes = tuple(range(-len(lengths), 0))
    steps = max(1.0, math.log2(max(2, math.prod(lengths))))

    def scale(operands: Sequence[Array], result: Array, run: Kernel) -> Array:
        mean = np.sqrt(np.mean(magnitude(result) ** 2, axis=axes, keepdims=True))
        return np.asarray(unit(result.dtype) * steps * mean)

    return scale
