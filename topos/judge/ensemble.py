"""Samples of the oracle: a module run with the rounding noise that a sound runtime may add.

A program of the interpreter is built in which every value has an axis of samples in front, of
extent 1 as long as no noise has reached it. Loops and branches follow each sample's own decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from topos.errors import ExecutionError
from topos.judge.batched import batched, batched_operands
from topos.judge.following import CONTROL, FollowingBuilder
from topos.judge.noise import Scale, disturbed, has_floats, is_floating, scale_of
from topos.judge.sampling import Freedom, Sampling, noisy, opened, ranged
from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.program import Array, Kernel, Program, single
from topos.stablehlo import Module
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import control, conversion
from topos.stablehlo.ir import Tensor
from topos.stablehlo.traits import Trait

# A sample may loop so many times as often as the first that stops, and this often in any case.
LONGER, SHORTEST = 10, 1000


class Samples(NamedTuple):
    """The results of `@main`, each with the samples along its first axis, and what was met.

    `decisions` counts the elements of comparisons, roundings and conversions on which the samples
    disagree, `freed` those that were moved because the run has a freedom beside rounding.
    """

    results: tuple[Array, ...]
    decisions: int
    freed: int


class Ensemble:
    """A verified module with static types, built for sampling; one thread may run it at a time."""

    def __init__(self, module: Module) -> None:
        self._sampling = Sampling()
        self._program = _SampledBuilder(module, self._sampling).main()

    def run(
        self,
        arguments: Sequence[Array],
        *,
        samples: int = 8,
        seed: int = 0,
        amplitude: float = 1.0,
        freedom: Freedom = Freedom.NONE,
    ) -> Samples:
        """Returns samples of the results for the arguments, the same ones for the same seed.

        The noise is `amplitude` times what a sound runtime may add. Raises `ExecutionError` where
        memory ends.
        """
        sampling = self._sampling
        sampling.count, sampling.amplitude, sampling.freedom = samples, amplitude, freedom
        sampling.generator = np.random.default_rng(seed)
        sampling.decisions = sampling.freed = 0
        try:
            with np.errstate(all="ignore"):
                taken = [ranged(sampling, np.asarray(each)[None], ()) for each in arguments]
                results = self._program.run(*taken)
        except MemoryError:
            raise ExecutionError("the samples need more memory than this machine has") from None
        whole = [np.broadcast_to(each, (samples, *each.shape[1:])) for each in results]
        return Samples(tuple(whole), sampling.decisions, sampling.freed)


class _SampledBuilder(FollowingBuilder):
    """Builds programs over samples."""

    def __init__(self, module: Module, sampling: Sampling) -> None:
        super().__init__(module, exact=False)
        self._sampling = sampling

    def _region(self, *arguments: Any, **options: Any) -> Program:
        program = super()._region(*arguments, **options)
        rest = tuple([None if each is None else each[None] for each in program.rest])
        return replace(program, rest=rest)

    def _kernel(self, builder: Builder, context: BuildContext[Any]) -> Kernel | Constant:
        kind = type(context.op)
        if kind is control.While:
            condition, body = context.regions
            return _Loop(condition, body, len(context.operands), self._sampling)
        if kind in (control.If, control.Case):
            regions = context.regions[::-1] if kind is control.If else context.regions
            return _Branches(regions, self._sampling)
        kernel = builder(context)
        types = (*context.operands, *context.results)
        # What handles tuples, tokens and callees handles the arrays in them as they are.
        plain = kind in CONTROL or not all(isinstance(each, Tensor) for each in types)
        if isinstance(kernel, Constant) or plain or not context.results:
            return kernel
        return _Sampled(context, builder, kernel, self._sampling)


class _Sampled:
    """The kernel of an operation over samples, and its noise."""

    def __init__(
        self, context: BuildContext[Any], builder: Builder, kernel: Kernel, sampling: Sampling
    ) -> None:
        self._context, self._builder, self._kernel = context, builder, kernel
        self._sampling = sampling
        self._single = len(context.results) == 1
        self._scale: Scale | None = scale_of(context.op, context.regions)
        self._operand_scale = disturbed(context.op)
        op = context.op
        self._decides = Trait.DECIDES in op.traits and any(map(has_floats, op.operands))
        self._truncates = self._decides and isinstance(op, conversion.Convert)
        self._underflows = Trait.UNDERFLOWS in op.traits
        self._computes = not op.is_layout
        self._taken = batched_operands(op)
        self._batched: dict[int, Kernel | None] = {}

    def __call__(self, *operands: Array) -> Any:
        sampling = self._sampling
        if self._operand_scale is not None:
            operands = tuple(
                [noisy(sampling, each, self._operand_scale(each)) for each in operands]
            )
        results = self._results(operands)
        if self._scale is not None:
            results = [
                noisy(sampling, each, self._scale(operands, each, self._run))
                if is_floating(each.dtype)
                else each
                for each in results
            ]
        if self._computes:
            results = [ranged(sampling, each, operands, self._underflows) for each in results]
        if self._truncates:
            results = [opened(sampling, operands[0], results[0])]
        if self._decides and len(results[-1]) > 1:
            sampling.decisions += _disagreements(results[-1])
        return single(results)

    def _results(self, operands: Sequence[Array]) -> list[Array]:
        count = 1
        for each in operands:
            count = max(count, len(each))
        if count == 1:
            return [each[None] for each in self._called([each[0] for each in operands])]
        kernel = self._over(count)
        rest = operands[self._taken :]
        if kernel is None or any(len(each) > 1 for each in rest):
            parts = [
                self._called([each[place if len(each) > 1 else 0] for each in operands])
                for place in range(count)
            ]
            return [np.stack(column) for column in zip(*parts, strict=True)]
        whole = [
            each if len(each) == count else np.repeat(each, count, axis=0)
            for each in operands[: self._taken]
        ]
        results = kernel(*whole, *[each[0] for each in rest])
        return [results] if self._single else [*results]

    def _called(self, operands: Sequence[Array]) -> list[Array]:
        results = self._kernel(*operands)
        return [results] if self._single else [*results]

    def _over(self, count: int) -> Kernel | None:
        """Returns the kernel of the operation over so many samples at once, made on first use."""
        if count not in self._batched:
            context = self._context
            op = None if context.captures else batched(context.op, count)
            self._batched[count] = None if op is None else self._built(op)
        return self._batched[count]

    def _built(self, op: Definition) -> Kernel | None:
        context = self._context
        made = self._builder(BuildContext(op, context.regions, 0, context.function, context.exact))
        return None if isinstance(made, Constant) else made

    def _run(self, *operands: Array) -> Array:
        return self._results(operands)[0]


def _disagreements(array: Array) -> int:
    return int((array != array[:1]).any(axis=0).sum())


@dataclass(frozen=True, slots=True)
class _Branches:
    """Programs of which each sample's index chooses one."""

    regions: tuple[Program, ...]
    sampling: Sampling

    def __call__(self, index: Array, *captures: Array) -> Any:
        last = len(self.regions) - 1
        places = index.astype(np.int64)
        places = np.where((places < 0) | (places > last), last, places)
        chosen = np.unique(places)
        results = self.regions[chosen[0]].run(*captures)
        for place in chosen[1:]:
            others = self.regions[place].run(*captures)
            results = [
                _selected(places == place, other, result)
                for other, result in zip(others, results, strict=True)
            ]
        return single(results)


@dataclass(frozen=True, slots=True)
class _Loop:
    """A condition and a body over the same `count` values; each sample stops by itself."""

    condition: Program
    body: Program
    count: int
    sampling: Sampling

    def __call__(self, *values: Array) -> Any:
        state, captures = [*values[: self.count]], values[self.count :]
        turns, limit = 0, None
        while True:
            truth = self.condition.run(*state, *captures)[0]
            if not truth.any() or (limit is not None and turns > limit):
                return single(state)
            if limit is None and not truth.all():
                limit = max(SHORTEST, LONGER * turns)
            turned = self.body.run(*state, *captures)
            turns += 1
            state = (
                turned
                if truth.all()
                else [_selected(truth, *pair) for pair in zip(turned, state, strict=True)]
            )


def _selected(here: Array, one: Array, other: Array) -> Array:
    rank = max(one.ndim, other.ndim)
    return np.where(here.reshape(here.shape + (1,) * (rank - 1)), one, other)
