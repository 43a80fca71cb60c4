"""One run of samples: what it draws, what it counts, and how it moves the numbers that it meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from topos.judge.noise import is_floating, limits_of, wide
from topos.runtimes.interpreter.program import Array


class Freedom(Enum):
    """What else than rounding the samples of a run show of what runtimes are free to do."""

    NONE = "rounding alone"
    RANGE = "samples flush subnormal numbers, and keep what overflows or underflows"
    OPEN = "samples convert numbers beyond an integer's range in several ways"


@dataclass
class Sampling:
    """What the kernels of one run share."""

    count: int = 8
    amplitude: float = 1.0
    freedom: Freedom = Freedom.NONE
    generator: np.random.Generator = field(default_factory=np.random.default_rng)
    decisions: int = 0
    freed: int = 0


def noisy(sampling: Sampling, array: Array, scale: Array | None) -> Array:
    """Returns samples of an array, moved by up to `scale` where that is finite."""
    if scale is None:
        return array
    shape = (sampling.count, *array.shape[1:])
    noise = _drawn(sampling, shape)
    if array.dtype.kind == "c":
        noise = noise + 1j * _drawn(sampling, shape)
    value = wide(array)
    moved = value + noise * scale
    finite = np.isfinite(moved)
    if not finite.all():
        moved = np.where(finite, moved, value)
    return np.asarray(moved.astype(array.dtype))


def _drawn(sampling: Sampling, shape: tuple[int, ...]) -> Array:
    """Returns numbers from minus to plus the amplitude; float32 is enough, and soon drawn."""
    noise = sampling.generator.random(shape, np.float32)
    noise -= np.float32(0.5)
    noise *= np.float32(2 * sampling.amplitude)
    return noise


def ranged(
    sampling: Sampling, array: Array, operands: Sequence[Array], underflows: bool = False
) -> Array:
    """Moves what leaves the range of normal numbers in about half of the samples, and counts it.

    Each sample decides by itself at every operation, for a runtime may keep one intermediate result
    in a wider format and not the next.
    """
    if sampling.freedom is not Freedom.RANGE or not is_floating(array.dtype):
        return array
    if array.dtype.kind == "c" or not array.size:
        return array
    limits = limits_of(array.dtype)
    size = np.abs(array)
    small = (size < limits.normal) & (size > 0)
    sources = [each for each in operands if is_floating(each.dtype)]
    finite = all(bool(np.isfinite(each).all()) for each in sources)
    large = np.isinf(array) & bool(sources and finite)
    vanished = np.zeros_like(small)
    if underflows:
        vanished = array == 0
        for each in sources:
            vanished = vanished & (each != 0)
    count = int(small.sum() + large.sum() + vanished.sum())
    sampling.freed += count
    if not count:
        return array
    moved = np.array(np.broadcast_to(array, (sampling.count, *array.shape[1:])))
    chosen = sampling.generator.integers(0, 2, sampling.count).astype(bool)
    chosen = chosen.reshape(-1, *(1,) * (array.ndim - 1))
    for here, number in ((small, 0.0), (large, limits.largest), (vanished, limits.normal)):
        value = np.copysign(np.asarray(number, array.dtype), moved)
        moved = np.where(chosen & here, value, moved).astype(array.dtype)
    return moved


def opened(sampling: Sampling, operand: Array, result: Array) -> Array:
    """Converts floats beyond the range of the result's type in several ways, and counts them."""
    if sampling.freedom is not Freedom.OPEN or result.dtype.kind not in "iu":
        return result
    limits = np.iinfo(result.dtype)
    number = wide(operand).real
    outside = ~((number > float(limits.min) - 1) & (number < float(limits.max) + 1))
    count = int(outside.sum())
    sampling.freed += count
    if not count:
        return result
    moved = np.array(np.broadcast_to(result, (sampling.count, *result.shape[1:])))
    outside = np.broadcast_to(outside, moved.shape)
    # What processors do: saturate as the oracle does, or give one number for all.
    for place, value in enumerate((limits.min, limits.max, 0)):
        chosen = outside.copy()
        chosen[np.arange(sampling.count) % 4 != place + 1] = False
        moved[chosen] = value
    return moved
