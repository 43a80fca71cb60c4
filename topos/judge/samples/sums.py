"""The noise of sums, whose terms a runtime may add in any order, contracted with their products."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from topos.judge.samples.formats import NATIVE, is_floating, magnitude, unit, wide
from topos.judge.samples.sampling import Sampling
from topos.runtimes.interpreter.program import Array, Kernel

# A sum of many terms in another order, and the terms' own magnitude, differ by half a unit a step.
HALF: Final = 0.5 * math.sqrt(3)
# Numbers whose squares and sums of squares are in the range of a format this far from its ends.
SQUARABLE: Final = (1e-8, 1e8)


class Added:
    """The noise of what adds terms, or products of terms, in an order of its own.

    It is the r.m.s. error of a sum in random order: the operation itself tells of squared terms how
    large they are, and of ones how many there are. The operands' magnitudes hardly differ from
    sample to sample, so those of the first serve for all.
    """

    def __init__(self, products: bool, dtype: np.dtype[Any], sampling: Sampling) -> None:
        self._products, self._unit = products, unit(dtype)
        self._mover = sampling.mover(dtype)
        self._weights: tuple[Array, Array, float] | None = None

    def __call__(self, operands: Sequence[Array], result: Array, run: Kernel) -> Array:
        """Returns `result` with noise."""
        first = [each[:1] for each in operands]
        of_total, of_squares, most = self._weighted(first, run)
        if not self._products and (most <= 1 or self._is_exact(operands, most)):
            return result
        squares = self._squares(first, run)
        total = magnitude(result[:1])
        errors = total * total * of_total + squares * of_squares
        return self._mover(result, self._unit * HALF * np.sqrt(errors))

    def _squares(self, first: Sequence[Array], run: Kernel) -> Array:
        """Returns the sum of the squared terms.

        Numbers whose squares leave the format's range are brought to around 1 before: each operand
        of a product by a size of its own, all terms of a sum by one.
        """
        sizes = [_largest(each) for each in first]
        if not self._products:
            sizes = [max(sizes) if size else size for size in sizes]
        if all(
            (each.dtype in NATIVE and SQUARABLE[0] < size < SQUARABLE[1]) or not size
            for each, size in zip(first, sizes, strict=True)
        ):
            squared = [
                np.square(each) if size else each for each, size in zip(first, sizes, strict=True)
            ]
            return magnitude(run(*squared))
        squared = [
            np.square(np.abs(wide(each) / size)).astype(each.dtype) if size else each
            for each, size in zip(first, sizes, strict=True)
        ]
        factor = math.prod(size for size in sizes if size) if self._products else max(sizes)
        return magnitude(run(*squared)) * factor**2

    def _weighted(self, first: Sequence[Array], run: Kernel) -> tuple[Array, Array, float]:
        """Returns the weights of the squared sum and of the sum of squares, and the most terms.

        Of operands that are all floats, only their shapes tell how many terms there are.
        """
        if self._weights is not None:
            return self._weights
        count = wide(run(*[_like(each, np.ones_like) for each in first])).real
        more = count * (count > 1)
        weights = more / 3, more / 6 + self._products, float(np.max(count, initial=0.0))
        if all(is_floating(each.dtype) for each in first):
            self._weights = weights
        return weights

    def _is_exact(self, operands: Sequence[Array], most: float) -> bool:
        """Returns whether every sum is of whole numbers, and within those that the dtype holds."""
        numbers = [each for each in operands if is_floating(each.dtype)]
        if not all(map(_is_whole, numbers)):
            return False
        largest = max((_largest(each[:1]) for each in numbers), default=0.0)
        return most * largest < 1 / self._unit


def _like(array: Array, change: Callable[[Array], Array]) -> Array:
    return change(array) if is_floating(array.dtype) else array


def _largest(array: Array) -> float:
    """Returns the largest finite modulus, 1 where all are zero, and 0 for what is no float."""
    if not is_floating(array.dtype):
        return 0.0
    moduli = np.abs(array) if array.dtype in NATIVE else magnitude(array)
    size = float(moduli.max(initial=0))
    if math.isfinite(size):
        return size or 1.0
    return float(moduli.max(where=np.isfinite(moduli), initial=0)) or 1.0


def _is_whole(array: Array) -> bool:
    if array.dtype.kind == "c":
        return False
    # Of most arrays the first number tells.
    if array.size and not float(array.flat[0]).is_integer():
        return False
    number = wide(array)
    return bool((number == np.rint(number)).all())
