"""One run of samples: what it draws, what it counts, and how it moves what leaves its range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from topos.judge.samples.formats import is_floating, limits_of, wide
from topos.runtimes.interpreter.program import Array

# A stream draws blocks of so many numbers, each twice as large as the last.
LEAST, MOST = 1 << 10, 1 << 16


class Freedom(Enum):
    """What else than rounding the samples of a run show of what runtimes are free to do."""

    NONE = "rounding alone"
    RANGE = "samples flush subnormal numbers, and keep what overflows or underflows"
    OPEN = "samples differ where nothing says what a result is"


class Sampling:
    """What the kernels of one run share."""

    def __init__(self) -> None:
        self.freedom = Freedom.NONE
        self.decisions = self.freed = 0
        self._streams: dict[tuple[float, float, np.dtype[Any]], Stream] = {}
        self.start(8, 0, 1.0, Freedom.NONE)

    def start(self, samples: int, seed: int, amplitude: float, freedom: Freedom) -> None:
        """Begins a run, which draws the same numbers whenever the seed is the same."""
        self.count, self.amplitude, self.freedom = samples, amplitude, freedom
        self.generator = np.random.default_rng(seed)
        self.decisions = self.freed = 0
        for stream in self._streams.values():
            stream.clear()

    def stream(self, middle: float, reach: float, dtype: np.dtype[Any]) -> Stream:
        """Returns the stream of numbers up to `reach` times the amplitude from `middle`."""
        key = (middle, reach, dtype)
        if key not in self._streams:
            self._streams[key] = Stream(self, *key)
        return self._streams[key]

    def mover(self, dtype: np.dtype[Any]) -> Mover:
        """Returns what adds noise to numbers of a dtype."""
        part = np.dtype(np.float64 if dtype.kind == "c" or dtype.itemsize > 4 else np.float32)
        return Mover(self.stream(0.0, 1.0, part), part)


class Stream:
    """Random numbers, uniform around a middle, that are drawn in blocks and used once each.

    A call of the generator costs more than the numbers of a small array.
    """

    __slots__ = ("_at", "_block", "_dtype", "_middle", "_numbers", "_reach", "_sampling")

    def __init__(
        self, sampling: Sampling, middle: float, reach: float, dtype: np.dtype[Any]
    ) -> None:
        self._sampling, self._middle, self._reach, self._dtype = sampling, middle, reach, dtype
        self.clear()

    def clear(self) -> None:
        """Forgets what was drawn."""
        self._numbers = np.empty(0, self._dtype)
        self._at, self._block = 0, LEAST

    def over(self, array: Array) -> Array:
        """Returns numbers for every sample of an array, which may stand for all of them."""
        shape, size, count = array.shape, array.size, self._sampling.count
        if shape[0] != count:
            shape, size = (count, *shape[1:]), size * count
        end = self._at + size
        if end > self._numbers.size:
            self._draw(size)
            end = size
        drawn = self._numbers[self._at : end]
        self._at = end
        return drawn.reshape(shape)

    def _draw(self, size: int) -> None:
        count = max(size, self._block)
        self._at, self._block = 0, min(2 * self._block, MOST)
        # Sixteen bits tell a fraction of a unit well enough.
        drawn: Any = self._sampling.generator.bit_generator.random_raw(-(-count // 4))
        bits = drawn.view(np.int16)
        self._numbers = np.empty(bits.size, self._dtype)
        reach = self._reach * self._sampling.amplitude / 2**15
        # A block at a time stays in the cache.
        for start in range(0, bits.size, MOST):
            numbers = bits[start : start + MOST].astype(np.float64)
            numbers *= reach
            part = self._numbers[start : start + MOST]
            np.add(numbers, self._middle + reach / 2, out=part, casting="same_kind")


class Mover(NamedTuple):
    """Noise that is added: numbers of a stream, each times a scale of its own."""

    stream: Stream
    part: np.dtype[Any]

    def __call__(self, array: Array, scale: Array) -> Array:
        """Returns samples of an array, moved by up to `scale` where that is finite."""
        scale = scale.astype(self.part, copy=False)
        finite = np.isfinite(scale)
        if np.count_nonzero(finite) < finite.size:
            scale = np.where(finite, scale, 0)
        noise = self.stream.over(array) * scale
        if array.dtype.kind == "c":
            turned = self.stream.over(array) * scale
            return np.asarray((array + (noise + 1j * turned)).astype(array.dtype))
        if array.dtype == self.part:
            moved: Array = np.add(noise, array, out=noise)
            return moved
        return np.asarray((noise + array.astype(self.part)).astype(array.dtype))


def ranged(
    sampling: Sampling,
    array: Array,
    operands: Sequence[Array],
    underflows: bool = False,
    normal: float = 1,
) -> Array:
    """Moves what leaves the range of normal numbers in about half of the samples, and counts it.

    That range begins at `normal` times the least normal number.
    Each sample decides by itself at every operation, for a runtime may keep one intermediate result
    in a wider format and not the next.
    """
    if sampling.freedom is not Freedom.RANGE or not is_floating(array.dtype) or not array.size:
        return array
    sources = [each for each in operands if is_floating(each.dtype)]
    if array.dtype.kind == "c":
        # A part may be the sum of two products that are subnormal each.
        moved = ranged(sampling, _parts(array), [*map(_parts, sources)], normal=2)
        return np.ascontiguousarray(moved).view(array.dtype)[..., 0]
    limits = limits_of(array.dtype)
    size = np.abs(array)
    small = (size < normal * limits.normal) & (size > 0)
    large = np.isinf(array) & bool(sources)
    vanished = (array == 0) & underflows
    for each in sources:
        if each.shape[1:] != array.shape[1:]:
            large = large & bool(np.isfinite(each).all())
            vanished = vanished & bool((each != 0).all())
            continue
        # What is infinite of a zero, as a logarithm or a quotient, is no number out of range.
        large = large & np.isfinite(each) & (each != 0)
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


def _parts(array: Array) -> Array:
    """Returns the two parts of complex numbers along a new last axis, and others as they are."""
    if array.dtype.kind != "c":
        return array
    return np.stack([array.real, array.imag], -1)


def flushed(sampling: Sampling, operands: Sequence[Array]) -> Sequence[Array]:
    """Takes subnormal operands for zero in about half of the samples, constants too."""
    if sampling.freedom is not Freedom.RANGE:
        return operands
    return [ranged(sampling, each, ()) for each in operands]


def opened(sampling: Sampling, operand: Array, result: Array) -> Array:
    """Converts floats beyond the range of an integer in several ways, and counts them."""
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
    # What processors do: saturate as the oracle does, give one number for all, or wrap.
    with np.errstate(all="ignore"):
        wrapped = np.broadcast_to(number, moved.shape).astype(np.int64).astype(result.dtype)
    values: tuple[Any, ...] = (limits.min, limits.max, 0, wrapped)
    for place, value in enumerate(values):
        chosen = outside.copy()
        chosen[np.arange(sampling.count) % 5 != place + 1] = False
        moved = np.where(chosen, value, moved).astype(result.dtype)
    return moved


def lawless(sampling: Sampling, result: Array) -> Array:
    """Gives anything for a result of which nothing says what it is, each sample something else."""
    if sampling.freedom is not Freedom.OPEN:
        return result
    sampling.freed += result.size
    shape, dtype = (sampling.count, *result.shape[1:]), result.dtype
    if not is_floating(dtype):
        bits = sampling.generator.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        return (bits[..., 0] > 127) if dtype.kind == "b" else bits.view(dtype)[..., 0]
    anything = sampling.generator.standard_normal(shape)
    anything *= math.sqrt(limits_of(dtype).largest)
    for place, number in enumerate((np.nan, np.inf, -np.inf)):
        anything[place] = number
    return anything.astype(dtype)


def is_finite(operands: Sequence[Array]) -> bool:
    """Returns whether all floating-point numbers of operands are finite."""
    return all(bool(np.isfinite(each).all()) for each in operands if is_floating(each.dtype))
