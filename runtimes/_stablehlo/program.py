"""The program: a function or a region as a flat list of kernels over numbered slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy.typing as npt

from topos.runtimes._stablehlo.syntax import Type

__all__ = ["Kernel", "Program", "Step"]

Array = npt.NDArray[Any]

# A kernel takes one array an operand. It returns one array, or a sequence of arrays where the
# operation has other than one result.
Kernel = Callable[..., Any]


class Step(NamedTuple):
    """One operation: its kernel, the slots read, the slot written, and those not read again.

    `output` is a slice of slots where the operation has other than one result.
    """

    kernel: Kernel
    inputs: tuple[int, ...]
    output: int | slice
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in order; arguments fill the first slots, constants the next ones.

    `elementwise` tells of a program over scalars that computes the same, element by element,
    when its arguments are arrays of one shape. `only` is the name of its operation where it is
    a single one that takes the program's arguments in their order.
    """

    arguments: tuple[Type, ...]
    results: tuple[Type, ...]
    rest: tuple[Array | None, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    elementwise: bool
    only: str

    def run(self, *arguments: Array) -> list[Array]:
        """Returns one array a result; it may be an argument, a constant or a view of either."""
        values: list[Any] = [*arguments, *self.rest]
        for kernel, inputs, output, dead in self.steps:
            values[output] = kernel(*[values[slot] for slot in inputs])
            for slot in dead:
                values[slot] = None
        return [values[slot] for slot in self.outputs]
