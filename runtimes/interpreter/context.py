"""The context of an operation: what its builder is given to make a kernel of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy.typing as npt

from topos.runtimes.interpreter.program import Kernel, Program
from topos.stablehlo.ir import Operation, Symbol, Tensor
from topos.stablehlo.opview import OpView

__all__ = ["BuildContext", "Builder", "Constant"]

Array = npt.NDArray[Any]


class Constant(NamedTuple):
    """What a builder returns in place of a kernel where the result is known already."""

    array: Array


class BuildContext(OpView):
    """One verified operation with its regions compiled.

    A kernel is called with the operands, then with `captures` values that the regions use from
    outside, which each region's program takes after its own arguments. `exact` tells the posture:
    the oracle's bits, or whatever numpy is fastest at. The values are tensors everywhere but at
    the operations that are there for tuples and tokens.
    """

    operands: tuple[Tensor, ...]
    results: tuple[Tensor, ...]

    def __init__(
        self,
        operation: Operation,
        operands: tuple[Tensor, ...],
        results: tuple[Tensor, ...],
        constants: tuple[Array | None, ...],
        regions: tuple[Program, ...],
        captures: int,
        function: Callable[[Symbol, Operation], Program],
        exact: bool,
    ) -> None:
        super().__init__(operation, operands, results, constants)
        self.regions = regions
        self.captures = captures
        self.function = function
        self.exact = exact

    def having(self, **parts: Any) -> BuildContext:
        """Returns this context with some of its parts replaced."""
        changed = copy(self)
        for name, part in parts.items():
            setattr(changed, name, part)
        return changed


Builder = Callable[[BuildContext], Kernel | Constant]
