"""Random bits: generators whose state is a value, and `rng`, whose state is the count of its runs.

The bits of `rng_bit_generator` are those of XLA on the CPU, for which the default algorithm is
Philox. Those of `rng` are this project's own, since no two implementations agree on them. The two
block ciphers, Threefry-2x32 and Philox-4x32, are those of Salmon, Moraes, Dror and Shaw, "Parallel
Random Numbers: As Easy as 1, 2, 3" (2011), with 20 and 10 rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final
from zlib import crc32

import numpy as np

from topos.payload.kernels import maps
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.program import Array, Kernel, Shape
from topos.stablehlo.dialect import random as dialect
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import dtype_of, extents, is_float, width

# Takes the words of a state, a shape and how many bits an element has; returns the next state and
# the bits.
Generator = Callable[[Array, Shape, int], tuple[Array, Array]]
# Takes two streams of 64 bits and the distribution's two parameters.
Distribution = Callable[[Array, Array, Array, Array], Array]

# The sizes that a state may have, in bytes: a key and a count, which Philox may have the whole of.
_STATES: Final = {"DEFAULT": (16, 24), "PHILOX": (16, 24), "THREE_FRY": (16,)}


def _rng_bit_generator(context: BuildContext[Any]) -> Kernel:
    algorithm = context.op.rng_algorithm
    (state,), (_, result) = context.operands, context.results
    size, sizes = math.prod(extents(state)) * dtype_of(state).itemsize, _STATES[algorithm]
    if size not in sizes:
        needs = " or ".join(f"{each // 8}xui64" for each in sizes)
        context.unsupported(f"needs a state of {needs} for {algorithm}, got {state}")
    kernel = _threefried if algorithm == "THREE_FRY" else _philoxed
    return partial(_generated, kernel, result)


def _generated(kernel: Generator, result: Tensor, state: Array) -> tuple[Array, Array]:
    words, dtype = np.ascontiguousarray(state).view(np.uint64).ravel(), dtype_of(result)
    advanced, bits = kernel(words, extents(result), 8 * dtype.itemsize)
    # Elements of fewer than 8 bits are the low ones of a byte.
    unsigned = np.dtype(f"u{dtype.itemsize}")
    narrowed = bits.astype(unsigned) & unsigned.type(2 ** width(result.element) - 1)
    return advanced.view(state.dtype).reshape(state.shape), narrowed.view(dtype)


def _threefried(state: Array, shape: Shape, size: int) -> tuple[Array, Array]:
    if size == 64:
        bits = joined(*threefry(state[0], _counted(state[1], shape)))
        return np.array([state[0], state[1] + np.uint64(bits.size)]), bits
    # A cipher's block is two words of 32 bits, which stand side by side along one axis: the first
    # of an even extent, or else the longest. An odd extent drops the last word.
    whole = shape or (1,)
    even = [axis for axis, extent in enumerate(whole) if extent % 2 == 0]
    split = even[0] if even else whole.index(max(whole))
    half = (*whole[:split], -(-whole[split] // 2), *whole[split + 1 :])
    pair = threefry(state[0], _counted(state[1], half))
    rounded = (*half[:split], 2 * half[split], *half[split + 1 :])
    bits = np.stack(pair, axis=split + 1).reshape(rounded)
    kept = bits[(*(slice(None),) * split, slice(whole[split]))].reshape(shape)
    return np.array([state[0], state[1] + np.uint64(math.prod(half))]), kept


def _counted(start: Array, shape: Shape) -> Array:
    return start + np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)


def _philoxed(state: Array, shape: Shape, size: int) -> tuple[Array, Array]:
    taken = math.prod(shape) * (2 if size == 64 else 1)
    blocks = -(-taken // 4)
    # A state without the count's high half takes the key for it.
    low, high = state[1], state[2 if len(state) > 2 else 0]
    lows = low + np.arange(blocks, dtype=np.uint64)
    highs = high + (lows < low).astype(np.uint64)
    words = np.stack(philox(state[0], lows, highs), axis=-1).ravel()[:taken]
    bits = joined(words[::2], words[1::2]) if size == 64 else words
    ended = low + np.uint64(blocks)
    advanced = np.array([state[0], ended, high + np.uint64(ended < low)])
    return advanced[: len(state)], bits.reshape(shape)


def _rng(context: BuildContext[Any]) -> Kernel:
    (result,) = context.results
    kernel = _normal if context.op.rng_distribution == "NORMAL" else _uniform
    if kernel is _uniform and not is_float(result):
        kernel = _whole
    # Where an operation stands tells it from the others of the module.
    place = f"{context.operation.line}:{context.operation.column}:{context.operation.results}"
    seed = np.uint64(crc32(place.encode()))
    return _Stream(kernel, seed, extents(result), dtype_of(result), count())


@dataclass(frozen=True, slots=True)
class _Stream:
    """A distribution, of which each run draws other numbers.

    The n-th run draws the same in every process. The count is one step of the iterator, which
    threads may share.
    """

    distribution: Distribution
    seed: np.uint64
    shape: Shape
    dtype: np.dtype[Any]
    runs: Iterator[int]

    def __call__(self, low: Array, high: Array, shape: Array) -> Array:
        state = np.array([self.seed, 0, next(self.runs)], np.uint64)
        size = 2 * math.prod(self.shape)
        _, bits = _philoxed(state, (size,), 64)
        drawn = self.distribution(bits[::2], bits[1::2], low, high)
        return np.asarray(drawn.astype(self.dtype).reshape(self.shape))


def _fractions(bits: Array) -> Array:
    """Returns numbers from 0 up to and without 1."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _uniform(bits: Array, _: Array, low: Array, high: Array) -> Array:
    share = _fractions(bits)
    first, last = low.astype(np.float64), high.astype(np.float64)
    values = np.maximum(first * (1.0 - share) + last * share, first).astype(low.dtype)
    # Rounding may reach the end that is left out.
    return np.asarray(np.where(values < high, values, low))


def _whole(bits: Array, _: Array, low: Array, high: Array) -> Array:
    first, last = int(low), int(high)
    span = np.uint64(max(last - first, 1))
    return np.asarray(bits % span + np.uint64(first % 2**64))


def _normal(bits: Array, others: Array, mean: Array, deviation: Array) -> Array:
    """Returns the first of the pair of Box and Muller (1958); the logarithm's argument is not 0."""
    radius = np.sqrt(-2.0 * maps.ln(1.0 - _fractions(bits)))
    drawn = radius * maps.cos(2.0 * np.pi * _fractions(others))
    return np.asarray(mean.astype(np.float64) + deviation.astype(np.float64) * drawn)


_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY: Final = np.uint32(0x1BD11BDA)
_MULTIPLIERS: Final = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
_ROUNDS: Final = 10


def halves(words: Array) -> tuple[Array, Array]:
    """Returns the low and the high 32 bits of 64-bit words."""
    return words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)


def joined(low: Array, high: Array) -> Array:
    """Returns 64-bit words of their low and their high 32 bits."""
    return low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))


def threefry(key: Array, counts: Array) -> tuple[Array, Array]:
    """Returns two 32-bit words for each 64-bit count, under a 64-bit key."""
    first, second = halves(np.asarray(key))
    keys = (first, second, first ^ second ^ _PARITY)
    left, right = halves(counts)
    left, right = left + keys[0], right + keys[1]
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            left = left + right
            right = _rotated(right, distance) ^ left
        left = left + keys[(group + 1) % 3]
        right = right + keys[(group + 2) % 3] + np.uint32(group + 1)
    return left, right


def philox(key: Array, low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
    """Returns four 32-bit words for each 128-bit count, given by its 64-bit halves."""
    keys = [int(half) for half in halves(np.asarray(key))]
    first, second = halves(low)
    third, fourth = halves(high)
    for step in range(_ROUNDS):
        scrambled = [
            np.uint32((half + step * weyl) & 0xFFFFFFFF)
            for half, weyl in zip(keys, _WEYL, strict=True)
        ]
        left, left_carry = halves(first.astype(np.uint64) * _MULTIPLIERS[0])
        right, right_carry = halves(third.astype(np.uint64) * _MULTIPLIERS[1])
        first, second = right_carry ^ second ^ scrambled[0], right
        third, fourth = left_carry ^ fourth ^ scrambled[1], left
    return first, second, third, fourth


def _rotated(words: Array, distance: int) -> Array:
    return (words << np.uint32(distance)) | (words >> np.uint32(32 - distance))


BUILDERS: Final[Builders] = {
    dialect.Rng: _rng,
    dialect.RngBitGenerator: _rng_bit_generator,
}
