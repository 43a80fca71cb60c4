"""One digest for what each kernel computes, and for a training run, as `name digest` lines.

All inputs are made of integers by shifts and scalings, so that they are the same everywhere:
a number that came from numpy's own exponential would already differ. Run as
`python -m tests.conformance.digest`; tests/conformance/digests.txt is its output.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from topos import Numerics, Tape, Value, bf16, f32, mean
from topos.payload.kernels import (
    arithmetic,
    comparison,
    conversion,
    maps,
    power,
    product,
    reduction,
    selection,
    stable,
    window,
)

__all__ = ["digest_of", "digests"]

Array = npt.NDArray[Any]

FLOATS: Final = tuple(
    np.dtype(kind) for kind in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)
)
INTEGERS: Final = (np.dtype(np.int64), np.dtype(np.int32))
BINARY: Final = ("divide", "add", "subtract", "multiply", "maximum", "minimum", "step")
# No multiple of a vector's length: the last elements go other ways than the first.
COUNT: Final = 5003
STEPS: Final = 20


def words(count: int, seed: int) -> Array:
    """Returns `count` words of splitmix64 (Steele, Lea and Flood, 2014)."""
    counter = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)
    mixed = counter * np.uint64(0x9E37_79B9_7F4A_7C15)
    for shift, factor in ((30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def numbers(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int, spread: int = 6) -> Array:
    """Returns numbers of either sign, 53 random bits long, between 2**-spread and 2**spread."""
    drawn = words(2 * int(np.prod(shape)), seed)
    integers = (drawn[::2] >> np.uint64(11)).astype(np.int64)
    scales = (drawn[1::2] >> np.uint64(33)).astype(np.int64) % (2 * spread) - spread
    signs = 1 - 2 * (drawn[1::2] & np.uint64(1)).astype(np.int64)
    wide = np.ldexp((signs * integers).astype(np.float64), scales - 52).reshape(shape)
    # To 16 bits by two casts that any library rounds alike.
    return wide if dtype == np.float64 else wide.astype(np.float32).astype(dtype)


def patterns(dtype: np.dtype[Any], count: int, seed: int) -> Array:
    """Returns numbers of any bits, NaNs among them, or any integers."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return (words(count, seed) >> np.uint64(64 - 8 * dtype.itemsize)).astype(unsigned).view(dtype)


def mixture(dtype: np.dtype[Any], seed: int) -> Array:
    """Returns numbers of both kinds, the moderate ones first."""
    return np.concatenate([numbers(dtype, (COUNT,), seed), patterns(dtype, COUNT // 2, seed + 1)])


def each_map() -> Iterator[tuple[str, Array]]:
    for name in sorted([*maps.MAPS, "sqrt"]):
        for dtype in FLOATS:
            yield name, getattr(maps, name)(mixture(dtype, 1))
    for dtype in FLOATS:
        yield "power", power.power(mixture(dtype, 2), mixture(dtype, 3))


def each_elementwise() -> Iterator[tuple[str, Array]]:
    relations = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
    for dtype in (*FLOATS, *INTEGERS):
        whole = dtype in INTEGERS
        left = patterns(dtype, COUNT, 4) if whole else mixture(dtype, 4)
        right = patterns(dtype, COUNT, 5) if whole else mixture(dtype, 5)
        for name in ("absolute", "negate"):
            yield "arithmetic", getattr(arithmetic, name)(left)
        # Integers are not divided.
        for name in BINARY[whole:]:
            yield "arithmetic", getattr(arithmetic, name)(left, right)
        for name in relations:
            yield "comparison", getattr(comparison, name)(left, right)
        mask = comparison.less(left, right)
        yield "comparison", comparison.select(mask, left, right)
        for target in (*FLOATS, *INTEGERS, np.dtype(np.bool_)):
            yield "conversion", conversion.convert(left, target)


def each_product() -> Iterator[tuple[str, Array]]:
    shapes = (
        ((37, 83), (83, 41)),
        ((3, 5, 7), (3, 7, 2)),
        ((1, 600), (600, 1)),
        ((700, 9), (9, 3)),
    )
    for dtype in FLOATS:
        for left, right in shapes:
            yield "product", product.matmul(numbers(dtype, left, 6), numbers(dtype, right, 7))
        turned = numbers(dtype, (83, 37), 8).T
        yield "product", product.matmul(turned, numbers(dtype, (83, 41), 9))


def each_reduction() -> Iterator[tuple[str, Array]]:
    for dtype in FLOATS:
        block = numbers(dtype, (7, 33, 65), 10)
        for axes in ((0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)):
            yield "sum", reduction.sum(block, axes)
            yield "sum", reduction.sum(block[::-1, :, ::2], axes)
            yield "extremes", reduction.maximum(block, axes)
            yield "extremes", reduction.minimum(-block, axes)
        yield "stable", stable.log_softmax(block, 1)
        yield "stable", stable.log_sum_exp(block, 2)
        indices = (words(400, 11) % np.uint64(37)).astype(np.int64)
        rows = numbers(dtype, (400, 5), 12)
        yield "scatter", selection.scatter(rows, indices, 0, 37)
        yield "scatter", selection.gather(rows, indices, 0)
        yield "fold", window.fold(numbers(dtype, (3, 11, 4), 13), 1, 2, 24)


def each_training() -> Iterator[tuple[str, Array]]:
    """Yields losses and parameters of a classifier's steps, by a plan and by `forward`."""
    for element in (f32, bf16):
        tape = Tape(element=element)
        features = tape.input(numbers(element.dtype, (12, 8), 14, spread=1))
        targets = tape.input(one_hot(12, 4).astype(element.dtype))
        first = tape.parameter(numbers(element.dtype, (8, 6), 15, spread=2), name="first")
        second = tape.parameter(numbers(element.dtype, (6, 4), 16, spread=2), name="second")
        loss: Value = -mean(((features @ first).tanh() @ second).log_softmax(1) * targets)
        adjoints = tape.differentiate(loss, [first, second])
        network = tape.into_network()
        roots = [loss.symbol, *adjoints.roots()]
        # numba takes as long to load as everything else takes to compute.
        entry = network.entry(roots, numerics=Numerics.EXACT, backends={"numba": False})
        plan, parameters = entry.lower(), network.parameters()
        for _ in range(STEPS):
            run, scanned = plan.forward(parameters), network.forward(parameters)
            yield "training", run.of(loss.symbol).numpy()
            yield "training", scanned.backward(loss.symbol).of("first").numpy()
            gradients = run.recorded_gradients(adjoints)
            parameters = parameters.step(gradients, lambda value, slope: value - 0.5 * slope)
        for name in ("first", "second"):
            yield "training", parameters.of(name).numpy()


def one_hot(rows: int, columns: int) -> Array:
    """Returns a row for each of `rows` random classes, 1 in its column and 0 elsewhere."""
    classes = words(rows, 17) % np.uint64(columns)
    return np.equal.outer(classes, np.arange(columns, dtype=np.uint64)).astype(np.float64)


def digest_of(results: Iterable[Array]) -> str:
    """Returns the SHA-256 of the dtypes, shapes and bytes of `results`."""
    found = hashlib.sha256()
    for result in results:
        found.update(f"{result.dtype.name}{result.shape}".encode())
        found.update(np.ascontiguousarray(result).tobytes())
    return found.hexdigest()


def digests() -> dict[str, str]:
    """Returns the digest of all results of each name."""
    found: dict[str, list[Array]] = {}
    every = (each_map, each_elementwise, each_product, each_reduction, each_training)
    with np.errstate(all="ignore"):
        for results in every:
            for name, result in results():
                found.setdefault(name, []).append(result)
    return {name: digest_of(results) for name, results in found.items()}


if __name__ == "__main__":
    for name, digest in digests().items():
        sys.stdout.write(f"{name} {digest}\n")
