"""Scan: a body run step by step along one axis, with values carried from step to step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.program import Array, Kernel, Program, single
from topos.stablehlo.dialect import scan as dialect
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS"]


def _scan(context: BuildContext[dialect.Scan]) -> Kernel:
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


BUILDERS: Final[Builders] = {dialect.Scan: _scan}
