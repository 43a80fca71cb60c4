"""Samples of the oracle: a module run with the rounding noise that a sound runtime may add.

A program of the interpreter is built in which every value has an axis of samples in front, of
extent 1 as long as no noise has reached it. Loops and branches follow each sample's own decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from topos.errors import ExecutionError
from topos.judge.samples.branching import Branches, Loop, Turns
from topos.judge.samples.following import CONTROL, FollowingBuilder
from topos.judge.samples.sampled import over_samples
from topos.judge.samples.sampling import Freedom, Sampling, ranged
from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.program import Array, Kernel, Program
from topos.stablehlo import Module
from topos.stablehlo.dialect import control
from topos.stablehlo.ir import Tensor


class Samples(NamedTuple):
    """The results of `@main`, each with the samples along its first axis, and what was met.

    `decisions` counts the elements of comparisons, roundings and conversions on which the samples
    disagree, `freed` those that were moved because the run has a freedom beside rounding.
    """

    results: tuple[Array, ...]
    decisions: int
    freed: int


class Ensemble:
    """A verified module with static types, built for sampling; one thread may run it at a time.

    `change` returns the program of `@main` that runs in place of the one that was built.
    """

    def __init__(self, module: Module, change: Callable[[Program], Program] | None = None) -> None:
        self._module, self._sampling, self._turns = module, Sampling(), Turns()
        self._change = change
        self._plain = self._built(free=False)
        # Built when a run has a freedom, which few have and every operation would ask for.
        self._free: Program | None = None

    def run(
        self,
        arguments: Sequence[Array],
        *,
        samples: int = 8,
        seed: int = 0,
        amplitude: float = 1.0,
        freedom: Freedom = Freedom.NONE,
        steps: int | None = None,
    ) -> Samples:
        """Returns samples of the results for the arguments, the same ones for the same seed.

        The noise is `amplitude` times what a sound runtime may add. Where the oracle's own run took
        `steps` turns of loops and calls, a loop that ends for no sample is stopped. Raises
        `ExecutionError` where memory ends.
        """
        sampling = self._sampling
        sampling.start(samples, seed, amplitude, freedom)
        self._turns.start(steps)
        program = self._plain
        if freedom is not Freedom.NONE:
            program = self._free = self._free or self._built(free=True)
        try:
            with np.errstate(all="ignore"):
                taken = [ranged(sampling, np.asarray(each)[None], ()) for each in arguments]
                results = program.run(*taken)
        except MemoryError:
            raise ExecutionError("the samples need more memory than this machine has") from None
        whole = [np.broadcast_to(each, (samples, *each.shape[1:])) for each in results]
        return Samples(tuple(whole), sampling.decisions, sampling.freed)

    def _built(self, *, free: bool) -> Program:
        program = _SampledBuilder(self._module, self._sampling, self._turns, free).main()
        return program if self._change is None else self._change(program)


class _SampledBuilder(FollowingBuilder):
    """Builds programs over samples."""

    def __init__(self, module: Module, sampling: Sampling, turns: Turns, free: bool) -> None:
        super().__init__(module, exact=False)
        self._sampling, self._turns, self._free = sampling, turns, free

    def _region(self, *arguments: Any, **options: Any) -> Program:
        program = super()._region(*arguments, **options)
        rest = tuple([None if each is None else each[None] for each in program.rest])
        return replace(program, rest=rest)

    def _kernel(self, builder: Builder, context: BuildContext[Any]) -> Kernel | Constant:
        kind = type(context.op)
        if kind is control.While:
            condition, body = context.regions
            return Loop(condition, body, len(context.operands), self._turns)
        if kind in (control.If, control.Case):
            regions = context.regions[::-1] if kind is control.If else context.regions
            return Branches(regions)
        kernel = builder(context)
        types = (*context.operands, *context.results)
        # What handles tuples, tokens and callees handles the arrays in them as they are.
        plain = kind in CONTROL or not all(isinstance(each, Tensor) for each in types)
        if isinstance(kernel, Constant) or plain or not context.results:
            return kernel
        made: Kernel = over_samples(context, builder, kernel, self._sampling, self._free)
        return made
