"""Control: calls, branches, loops and scans; tuples, tokens and the barrier, which do nothing.

Where a body over scalars is applied to arrays of them, a branch or a loop inside it runs once for
the elements that take it, and no others. A tuple is a Python tuple of its parts' values, a token
the empty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.program import Array, Kernel, Place, Program, single, spend
from topos.stablehlo.dialect import calling, control, scan, tuples
from topos.stablehlo.ir import Symbol, Tensor
from topos.stablehlo.types import dtype_of, extents


def call_of(context: BuildContext[Any], name: Symbol) -> Kernel:
    """Returns the kernel that gives the operands of `context` to the function called `name`."""
    operation = context.operation
    place = (operation.line, operation.column)
    return partial(_called, context.function(name, operation.line), place)


def _called(program: Program, place: Place, *arguments: Array) -> Any:
    spend(place)
    return single(program.consume([*arguments]))


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
        truth = self.condition.consume([*state, *captures])[0]
        while truth.ndim == 0 and truth:
            spend(self.place)
            state += captures
            # The body gets the only reference to its arguments, so that it may free them.
            state = self.body.consume(state)
            truth = self.condition.consume([*state, *captures])[0]
        return single(state) if truth.ndim == 0 else single(self._each(truth, state, captures))

    def _each(self, truth: Array, state: Sequence[Array], captures: Sequence[Array]) -> list[Array]:
        """Returns the last state of each element of `truth`, every one of which loops alone."""
        results = [np.array(np.broadcast_to(value, truth.shape)) for value in state]
        here = np.array(truth)
        while here.any():
            spend(self.place)
            outside = [_part(value, here) for value in captures]
            state = self.body.run(*[value[here] for value in results], *outside)
            for result, value in zip(results, state, strict=True):
                result[here] = value
            again = self.condition.run(*[value[here] for value in results], *outside)[0]
            here[here] = again
        return results


def _scan(context: BuildContext[scan.Scan]) -> Kernel:
    inputs = context.op.operand_segment_sizes[0]
    outputs = context.op.result_segment_sizes[0]
    axis = context.op.dimension
    first = context.operands[0] if inputs else context.results[0]
    return _Scan(
        body=context.regions[0],
        axis=axis,
        steps=extents(first)[axis],
        reverse=context.op.is_reverse,
        inputs=inputs,
        carries=len(context.operands) - inputs,
        outputs=tuple(context.results[:outputs]),
    )


@dataclass(frozen=True, slots=True)
class _Scan:
    """The steps in order, from the end where `reverse`; an output stands where its input was."""

    body: Program
    axis: int
    steps: int
    reverse: bool
    inputs: int
    carries: int
    outputs: tuple[Tensor, ...]

    def __call__(self, *values: Array) -> Any:
        count = self.inputs + self.carries
        inputs, captures = values[: self.inputs], values[count:]
        carried = values[self.inputs : count]
        results = [np.empty(extents(type), dtype_of(type)) for type in self.outputs]
        turned = [np.moveaxis(array, self.axis, 0) for array in inputs]
        written = [np.moveaxis(array, self.axis, 0) for array in results]
        order = range(self.steps)
        for step in reversed(order) if self.reverse else order:
            slices = [array[(step, ...)] for array in turned]
            returned = self.body.run(*slices, *carried, *captures)
            for target, value in zip(written, returned, strict=False):
                target[step] = value
            carried = tuple(returned[len(results) :])
        return single((*results, *carried))


BUILDERS: Final[Builders] = {
    calling.Call: lambda context: call_of(context, context.op.callee),
    control.Case: lambda context: _Branches(context.regions),
    # The first branch is that of a true value.
    control.If: lambda context: _Branches(context.regions[::-1]),
    control.OptimizationBarrier: always(lambda *values: single(values)),
    control.While: _while,
    scan.Scan: _scan,
    tuples.AfterAll: always(lambda *tokens: ()),
    tuples.CreateToken: always(tuple),
    tuples.GetTupleElement: lambda context: itemgetter(context.op.index),
    tuples.Tuple: always(lambda *values: values),
}
