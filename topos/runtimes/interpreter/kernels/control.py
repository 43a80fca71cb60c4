"""Control: calls, branches, loops, and the barrier that does nothing.

Where a body over scalars is applied to arrays of them, a branch or a loop inside it runs once for
the elements that take it, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.budget import Place, running
from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.program import Array, Kernel, Program, single
from topos.stablehlo.dialect import control as dialect

__all__ = ["BUILDERS"]


def _if(context: BuildContext[Any]) -> Kernel:
    # The first branch is that of a true value.
    return _Branches(context.regions[::-1])


def _case(context: BuildContext[Any]) -> Kernel:
    return _Branches(context.regions)


@dataclass(frozen=True, slots=True)
class _Branches:
    """Programs of which an index chooses one; an index outside them takes the last."""

    regions: tuple[Program, ...]

    def __call__(self, index: Array, *captures: Array) -> Any:
        if index.ndim:
            return single(self._scattered(index, captures))
        place = int(index)
        if not 0 <= place < len(self.regions):
            place = len(self.regions) - 1
        return single(self.regions[place].consume([*captures]))

    def _scattered(self, index: Array, captures: Sequence[Array]) -> list[Array]:
        """Returns for each element of `index` what its branch returns."""
        last = len(self.regions) - 1
        places = index.astype(np.int64)
        places = np.where((places < 0) | (places > last), last, places)
        results: list[Array] = []
        for place in np.unique(places):
            here = places == place
            chosen = self.regions[place].run(*[_part(value, here) for value in captures])
            results = results or [np.empty(index.shape, value.dtype) for value in chosen]
            for result, value in zip(results, chosen, strict=True):
                result[here] = value
        # Of no elements no branch runs, and only a branch knows its results' elements.
        return results or self.regions[last].run(*captures)


def _part(value: Array, here: Array) -> Array:
    return value[here] if value.ndim else value


def _while(context: BuildContext[Any]) -> Kernel:
    condition, body = context.regions
    place = (context.operation.line, context.operation.column)
    return _Loop(condition, body, len(context.operands), place)


@dataclass(frozen=True, slots=True)
class _Loop:
    """A condition and a body over the same `count` values; `place` is where the loop stands."""

    condition: Program
    body: Program
    count: int
    place: Place

    def __call__(self, *values: Array) -> Any:
        state, captures = [*values[: self.count]], values[self.count :]
        budget = running()
        truth = self.condition.consume([*state, *captures])[0]
        while truth.ndim == 0 and truth:
            if budget is not None:
                budget.spend(self.place)
            state += captures
            # The body gets the only reference to its arguments, so that it may free them.
            state = self.body.consume(state)
            truth = self.condition.consume([*state, *captures])[0]
        return single(state) if truth.ndim == 0 else single(self._each(truth, state, captures))

    def _each(self, truth: Array, state: Sequence[Array], captures: Sequence[Array]) -> list[Array]:
        """Returns the last state of each element of `truth`, every one of which loops alone."""
        budget = running()
        results = [np.array(np.broadcast_to(value, truth.shape)) for value in state]
        here = np.array(truth)
        while here.any():
            if budget is not None:
                budget.spend(self.place)
            outside = [_part(value, here) for value in captures]
            state = self.body.run(*[value[here] for value in results], *outside)
            for result, value in zip(results, state, strict=True):
                result[here] = value
            again = self.condition.run(*[value[here] for value in results], *outside)[0]
            here[here] = again
        return results


BUILDERS: Final[Builders] = {
    dialect.Case: _case,
    dialect.If: _if,
    dialect.OptimizationBarrier: always(lambda *values: single(values)),
    dialect.While: _while,
}
