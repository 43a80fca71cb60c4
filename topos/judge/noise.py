"""The rounding noise of an operation: how far a sound runtime's result may lie from the exact one.

A scale is absolute, one for each element of the result; a sample adds a number drawn from -1 to 1
times the scale. The scales follow from what runtimes are free to do: approximate a map to a few
units in the last place, sum in any order, contract a product with a sum. An operation's definition
says by its `rounding` which of them holds of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

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

# Takes the operands and the result, all with the axis of samples in front; returns the scale, which
# broadcasts against the result, or `None` where the result is exact.
# `run` is the operation's own kernel, for operands that have the axis too.
Scale = Callable[[Sequence[Array], Array, Kernel], Array | None]

# What a body other than a sum makes of an element, in units.
BODY: Final = 4.0
# A sum of many terms in another order, and the terms' own magnitude, differ by half a unit a step.
HALF: Final = 0.5 * math.sqrt(3)
# What holds an exact result: of two numbers of f32 or less, and of two of f64 as nearly as matters,
# where the machine has a longer format.
DOUBLE: Final = MappingProxyType({"f": np.float64, "c": np.complex128})
LONGEST: Final = MappingProxyType({"f": np.longdouble, "c": np.clongdouble})
HAS_LONGER: Final = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps


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
    if not isinstance(op.rounding, OfOperands):
        return None
    units, of_largest = op.rounding.units, op.rounding.of_largest

    def scale(operand: Array) -> Array | None:
        if not is_floating(operand.dtype):
            return None
        moduli = magnitude(operand)
        inside = tuple(range(max(1, moduli.ndim - 2), moduli.ndim))
        largest = moduli.max(axis=inside, keepdims=True, initial=0.0) if inside else moduli
        return unit(operand.dtype) * (units * moduli + of_largest * largest)

    return scale


def scale_of(op: Definition, regions: Sequence[Program]) -> Scale | None:
    """Returns the noise of an operation's results, or `None` for those that nothing rounds."""
    if not any(has_floats(result) for result in op.results):
        return None
    match op.rounding:
        case Once(exact):
            return _once(exact)
        case Units(count, of_one, complex_alone):
            is_exact = complex_alone and not is_complex(op.operands[0])
            return None if is_exact else _units(count, of_one)
        case Sums(products):
            return _added(products=products)
        case OfBody():
            return _of_body(regions[-1])
        case Transform(lengths):
            return _transformed(getattr(op, lengths))
    return None


def has_floats(type: Any) -> bool:
    """Returns whether a type is of a tensor of floats or complex numbers."""
    return getattr(type, "element", "i")[0] in "fbc"


def is_complex(type: Any) -> bool:
    """Returns whether a type is of a tensor of complex numbers."""
    return getattr(type, "element", "i")[0] == "c"


def _units(count: float, of_one: float = 0.0) -> Scale:
    return lambda operands, result, run: unit(result.dtype) * (count * magnitude(result) + of_one)


def _once(exact: Callable[..., Array]) -> Scale:
    def scale(operands: Sequence[Array], result: Array, run: Kernel) -> Array | None:
        kind = "c" if result.dtype.kind == "c" else "f"
        double = unit(result.dtype) <= unit(np.dtype(np.float64))
        if double and not HAS_LONGER:
            return unit(result.dtype) * magnitude(result)
        wider = LONGEST[kind] if double else DOUBLE[kind]
        inexact = exact(*[each.astype(wider) for each in operands]) != result.astype(wider)
        return np.where(inexact, unit(result.dtype) * magnitude(result), 0.0)

    return scale


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


def _of_body(body: Program) -> Scale | None:
    """Returns the noise of what applies a body to many elements."""
    if body.only is not None and body.only.rounding == Once(np.add):
        return _added(products=False)
    exact = all(
        isinstance(op.rounding, Exact) or not any(map(has_floats, op.results))
        for op in body.operations
    )
    return None if exact else _units(BODY)


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


def _transformed(lengths: Sequence[int]) -> Scale:
    axes = tuple(range(-len(lengths), 0))
    steps = max(1.0, math.log2(max(2, math.prod(lengths))))

    def scale(operands: Sequence[Array], result: Array, run: Kernel) -> Array:
        mean = np.sqrt(np.mean(magnitude(result) ** 2, axis=axes, keepdims=True))
        return np.asarray(unit(result.dtype) * steps * mean)

    return scale
