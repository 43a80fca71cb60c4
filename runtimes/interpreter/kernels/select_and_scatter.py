"""Selection of one element of each window, onto which the source's elements are scattered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.bodies import Combiner, combiner
from topos.runtimes.interpreter.kernels.sliding import Sliding, demand_room
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Axes = tuple[int, ...]


def _select_and_scatter(context: BuildContext) -> Kernel:
    operand, source = context.operands[:2]
    rank = len(extents(operand))
    ones = (1,) * rank
    sliding = Sliding(
        size=context.integers("window_dimensions", ones),
        stride=context.integers("window_strides", ones),
        padding=context.pairs("padding", rank),
        base=ones,
        dilation=ones,
    )
    demand_room(context, sliding, extents(operand))
    return _Selection(
        select=combiner(context.regions[0]),
        scatter=combiner(context.regions[1]),
        sliding=sliding,
        counts=extents(source),
    )


@dataclass(frozen=True, slots=True)
class _Selection:
    """The operand's shape filled with the initial value and combined with the source's elements.

    A window keeps its selected element while `select` of it and the next one is true, so its
    first element stands first; elements of the padding are never selected. Where several windows
    select one element, their source elements follow in row-major order.
    """

    select: Combiner
    scatter: Combiner
    sliding: Sliding
    counts: Axes

    def __call__(self, operand: Array, source: Array, start: Array, *captures: Array) -> Array:
        result = np.full(math.prod(operand.shape), start, operand.dtype)
        if source.size and operand.size:
            places = self._selected(operand, captures).ravel()
            order = np.flatnonzero(places >= 0)
            self._scatter(result, places[order], source.ravel()[order], captures)
        return result.reshape(operand.shape)

    def _selected(self, operand: Array, captures: tuple[Array, ...]) -> Array:
        """Returns the row-major place of the element that each window selects, or -1 for none."""
        places = np.arange(operand.size, dtype=np.int64).reshape(operand.shape)
        placed = self.sliding.placed(operand, operand.dtype.type(0))
        inside = self.sliding.placed(places, -1)
        chosen = np.full(self.counts, -1, np.int64)
        value = np.zeros(self.counts, operand.dtype)
        for offset in self.sliding.offsets():
            index = self.sliding.at(offset, self.counts)
            candidate, place = placed[index], inside[index]
            (keeps,) = self.select((value,), (candidate,), captures)
            # A window without an element so far takes the first that it meets.
            taken = (place >= 0) & ((chosen < 0) | ~keeps)
            chosen = np.where(taken, place, chosen)
            value = np.where(taken, candidate, value)
        return chosen

    def _scatter(
        self, result: Array, places: Array, values: Array, captures: tuple[Array, ...]
    ) -> None:
        order = np.argsort(places, kind="stable")
        places, values = places[order], values[order]
        first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
        ranks = np.arange(len(places)) - np.repeat(first, np.diff([*first, len(places)]))
        by_rank = np.argsort(ranks, kind="stable")
        ends = np.cumsum(np.bincount(ranks)) if len(ranks) else ()
        begin = 0
        # Within a rank no place stands twice, so its values combine at once.
        for end in ends:
            chosen = by_rank[begin:end]
            target = places[chosen]
            (result[target],) = self.scatter((result[target],), (values[chosen],), captures)
            begin = end


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.select_and_scatter": _select_and_scatter}
