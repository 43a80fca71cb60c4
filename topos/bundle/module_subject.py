"""Modules as subjects: StableHLO from anywhere, run by the interpreter under Exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Final

import numpy as np

from topos.bundle.modules import demand_known_targets
from topos.bundle.movement import moved_by_one
from topos.bundle.subject import Slot, Subject, held
from topos.judge.samples.ensemble import Ensemble
from topos.payload import DIFFERENTIABLE
from topos.reading import Tensor
from topos.runtimes.interpreter.program import Array, Program, Step, limited
from topos.runtimes.interpreter.run import built
from topos.stablehlo import Module

# More steps than any run takes, to count them.
UNBOUNDED: Final = 2**62


class ModuleSubject(Subject):
    """A verified module of static types to export; `text` is what it was read from.

    Raises `UnsupportedError` for an operation, a custom call say, that the oracle cannot run.
    """

    kind = "module"

    def __init__(
        self, module: Module, text: str, arguments: tuple[Slot, ...], results: tuple[Slot, ...]
    ) -> None:
        super().__init__(arguments, results)
        self._module, self._text, self._steps = module, text, 0
        self._seed: tuple[int, ...] = ()
        demand_known_targets(module)
        self._oracle = built(module, text=text)

    @property
    def text(self) -> str:
        return self._text

    def evaluated(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        arguments = [held(slot, inputs).numpy() for slot in self.arguments]
        with limited(UNBOUNDED) as budget:
            results = self._oracle(*arguments)
        assert budget is not None  # A number of steps was given.
        self._steps = max(self._steps, UNBOUNDED - budget[0])
        return self._named(results)

    def moved(self, inputs: Mapping[str, Tensor], seed: tuple[int, ...]) -> dict[str, Tensor]:
        """Returns the results of a sample: every operation adds the noise of a sound runtime."""
        arguments = [held(slot, inputs).numpy() for slot in self.arguments]
        number = int(np.random.SeedSequence(seed).generate_state(1)[0])
        self._seed = seed
        # A loop that noise keeps from its end is stopped where the oracle's ended long before.
        found = self._ensemble.run(arguments, samples=1, seed=number, steps=self._steps)
        return self._named([samples[0] for samples in found.results])

    @cached_property
    def _ensemble(self) -> Ensemble:
        return Ensemble(self._module, self._moving)

    def _moving(self, program: Program) -> Program:
        """Returns a program that moves each argument before its first use.

        All of them moved at once would take the memory of the weights again.
        """
        steps = [*program.steps]
        last = len(steps)
        first = {slot: place for place in reversed(range(last)) for slot in program.inputs[place]}
        rounded = [
            slot for slot, each in enumerate(self.arguments) if each.type.element in DIFFERENTIABLE
        ]
        for slot in sorted(rounded, key=lambda slot: first.get(slot, last), reverse=True):
            read = itemgetter(slice(slot, slot + 1))
            steps.insert(
                first.get(slot, last), Step(partial(self._moved_one, slot), read, slot, ())
            )
        return replace(program, steps=tuple(steps))

    def _moved_one(self, place: int, samples: Array) -> Array:
        value = Tensor.wrap(samples[0], self.arguments[place].type.element)
        return moved_by_one(value, (*self._seed, place)).numpy()[None]

    def _named(self, results: Sequence[Array]) -> dict[str, Tensor]:
        return {
            slot.name: Tensor.wrap(array, slot.type.element)
            for slot, array in zip(self.results, results, strict=True)
        }
