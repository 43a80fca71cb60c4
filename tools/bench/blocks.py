"""A chain of elementwise operations over whole arrays beside the same chain block by block."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from timing import interleaved

Array = npt.NDArray[np.float32]

SIZES = (100_000, 1_000_000, 10_000_000)
BLOCKS = tuple(1 << power for power in range(13, 17))
ROUNDS = 15
HALF, TWO = np.float32(0.5), np.float32(2.0)


def chained(x: Array, y: Array, out: Array) -> None:
    """Computes eight operations of two arrays, each into `out`, as a plan does."""
    np.multiply(x, HALF, out=out)
    np.add(out, y, out=out)
    np.maximum(out, x, out=out)
    np.subtract(out, HALF, out=out)
    np.multiply(out, out, out=out)
    np.add(out, TWO, out=out)
    np.divide(x, out, out=out)
    np.multiply(out, y, out=out)


def blocked(x: Array, y: Array, out: Array, length: int) -> None:
    """Computes the same, all eight operations for `length` elements before the next ones."""
    for start in range(0, len(x), length):
        block = slice(start, start + length)
        chained(x[block], y[block], out[block])


def rivals(size: int) -> dict[str, Callable[[], object]]:
    """Returns the whole chain and its blocked forms over `size` elements."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, size)).astype(np.float32)
    out, wanted = np.empty_like(x), np.empty_like(x)
    chained(x, y, wanted)
    found: dict[str, Callable[[], object]] = {"whole": lambda: chained(x, y, out)}
    for length in BLOCKS:
        blocked(x, y, out, length)
        assert out.tobytes() == wanted.tobytes()
        found[f"blocks of {length:,}"] = partial(blocked, x, y, out, length)
    return found


def main() -> None:
    """Prints the milliseconds of each form, and what part of the whole chain's time that is."""
    for size in SIZES:
        figures = interleaved(rivals(size), ROUNDS)
        print(f"8 operations on {size:,} elements of f32")
        for name, seconds in figures.items():
            share = seconds / figures["whole"]
            print(f"  {name:<20} {seconds * 1e3:>9.3f} ms {share:>7.2f}x")


if __name__ == "__main__":
    main()
