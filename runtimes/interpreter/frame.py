"""The frame of a block on its way to a program: which name lies in which slot."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from topos.runtimes.interpreter.program import Array, Kernel, Program, Step
from topos.runtimes.interpreter.scalarization import is_scalar
from topos.stablehlo.definition import Definition
from topos.stablehlo.ir import Type, result_names
from topos.stablehlo.traits import Trait

__all__ = ["Frame"]


class Frame:
    """The slots defined so far, the constants among them, and the steps in order.

    `slots` tells where a name lies, which a verified module defines before it is used. The first
    `arguments` slots are those of the program.
    """

    def __init__(self) -> None:
        self.types: list[Type] = []
        self.constants: dict[int, Array] = {}
        self.slots: dict[str, int] = {}
        self._steps: list[Step] = []
        self._inputs: list[tuple[int, ...]] = []
        self._operations: list[Definition] = []
        self.arguments = 0

    def define(self, name: str, type: Type) -> int:
        """Returns the next slot, which `name` stands for from here on."""
        slot = len(self.types)
        self.types.append(type)
        # An argument of a region may have no name; nothing then uses it.
        if name:
            self.slots.update(dict.fromkeys(result_names(name), slot))
        return slot

    def add(self, op: Definition, kernel: Kernel, inputs: tuple[int, ...], first: int) -> None:
        """Appends a step that writes the slots from `first` on."""
        single = len(op.results) == 1
        output = first if single else slice(first, first + len(op.results))
        self._steps.append(Step(kernel, _reader(inputs), output, ()))
        self._inputs.append(inputs)
        self._operations.append(op)

    def program(self, outputs: tuple[int, ...], elementwise: bool) -> Program:
        """Returns the program, in which a value leaves its slot after its last use."""
        total, arguments = len(self.types), self.arguments
        return Program(
            arguments=tuple(self.types[:arguments]),
            results=tuple(self.types[slot] for slot in outputs),
            rest=tuple(self.constants.get(slot) for slot in range(arguments, total)),
            steps=self._released(outputs),
            operations=tuple(self._operations),
            inputs=tuple(self._inputs),
            outputs=outputs,
            elementwise=elementwise and all(map(is_scalar, self.types)),
            only=self._only(outputs),
        )

    def _released(self, outputs: tuple[int, ...]) -> tuple[Step, ...]:
        kept = {*outputs, *self.constants}
        steps: list[Step] = []
        for step, inputs in zip(reversed(self._steps), reversed(self._inputs), strict=True):
            single = isinstance(step.output, int)
            written = (step.output,) if single else range(len(self.types))[step.output]
            dead = tuple({slot for slot in (*inputs, *written) if slot not in kept})
            kept.update(inputs)
            steps.append(step._replace(dead=dead))
        return tuple(reversed(steps))

    def _only(self, outputs: tuple[int, ...]) -> type[Definition] | None:
        if len(self._steps) != 1 or outputs != (self._steps[0].output,):
            return None
        (inputs,), (op,) = self._inputs, self._operations
        given = tuple(range(self.arguments))
        swapped = Trait.COMMUTATIVE in op.traits and inputs == given[::-1]
        return type(op) if inputs == given or swapped else None


def _reader(inputs: tuple[int, ...]) -> Any:
    if len(inputs) > 1:
        return itemgetter(*inputs)
    # A slice keeps one operand, or none, in a list.
    first = inputs[0] if inputs else 0
    return itemgetter(slice(first, first + len(inputs)))
