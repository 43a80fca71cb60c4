"""The program: a region as kernels over numbered slots, and the budget of its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from topos.errors import ExecutionError, TextError
from topos.payload.kernels.canonical import Array
from topos.stablehlo.definition import Definition
from topos.stablehlo.ir import Type

__all__ = [
    "Array",
    "Axes",
    "Kernel",
    "Kernels",
    "Place",
    "Program",
    "Shape",
    "Step",
    "StepsError",
    "limited",
    "single",
    "spend",
]

# A line and a column.
Place = tuple[int, int]


class StepsError(TextError, ExecutionError):
    """The signal of a run of more steps than its budget has, at the loop or call that took it.

    The text is not at hand where it is raised; `run.py` makes the error of the caller of it.
    """


# The steps that are left to the run and those that it had, if it has a bound. Every thread, and
# every task, has a value of its own.
_BUDGET: Final[ContextVar[list[int] | None]] = ContextVar("budget", default=None)


def spend(place: Place) -> None:
    """Takes one step of the loop or the call at `place`; raises `StepsError` for none left."""
    budget = _BUDGET.get()
    if budget is None:
        return
    if not budget[0]:
        raise StepsError(f"@main ran more than {budget[1]} steps", *place)
    budget[0] -= 1


@contextmanager
def limited(max_steps: int | None) -> Iterator[list[int] | None]:
    """Gives what runs inside at most `max_steps` steps; for `None` those that are left outside.

    Where there is a bound, the value is what is left of it now and what it was.

    A step is one turn of a `stablehlo.while` or one call of a function, by `func.call` or as a
    composite's decomposition. A loop or a call applied to an array in place of a scalar is taken
    for all its elements at once. All else in a program runs at most once a step, so the steps
    bound the run.
    """
    budget = _BUDGET.get() if max_steps is None else [max_steps, max_steps]
    token = _BUDGET.set(budget)
    try:
        yield budget
    finally:
        _BUDGET.reset(token)


Axes = tuple[int, ...]
Shape = tuple[int, ...]
# A kernel takes one array an operand. It returns one array, or a sequence of arrays where the
# operation has other than one result.
Kernel = Callable[..., Any]
# Those of several operations that are chosen by one rule.
Kernels = Mapping[type[Definition], Kernel]


class Step(NamedTuple):
    """One operation: its kernel, how the operands are read, and what it does to the slots.

    `read` takes the list of slots and returns the operands; a C function, since a Python one would
    cost as much as a kernel over scalars. `output` is the slot written, or a slice of slots where
    the operation has other than one result; `dead` are the slots that nothing reads again.
    """

    kernel: Kernel
    read: Callable[[list[Any]], Sequence[Any]]
    output: int | slice
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in order; arguments fill the first slots, constants the next ones.

    `operations` and `inputs` hold for each step its operation and the slots that it reads.
    `elementwise` tells of a program over scalars that computes the same, element by element,
    when its arguments are arrays of one shape. `only` is its operation where it is a single
    one that takes the program's arguments in their order, or in any order that gives the
    same result.
    """

    arguments: tuple[Type, ...]
    results: tuple[Type, ...]
    rest: tuple[Array | None, ...]
    steps: tuple[Step, ...]
    operations: tuple[Definition, ...]
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...]
    elementwise: bool
    only: type[Definition] | None

    def run(self, *arguments: Array) -> list[Array]:
        """Returns one array a result; it may be an argument, a constant or a view of either."""
        return self.consume([*arguments])

    def consume(self, values: list[Any]) -> list[Array]:
        """Returns what `run` does for the arguments in `values`, which it empties.

        An argument that nothing else refers to is freed after its last use.
        """
        values.extend(self.rest)
        for kernel, read, output, dead in self.steps:
            values[output] = kernel(*read(values))
            for slot in dead:
                values[slot] = None
        return [values[slot] for slot in self.outputs]


def single(results: Sequence[Any]) -> Any:
    """Returns what a kernel returns for `results`: the one, or all where there are more or none."""
    return results[0] if len(results) == 1 else results
