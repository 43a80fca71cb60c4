"""Kernels over samples: an operation applied to all of them at once, and its noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from topos.judge.samples.batched import batched, batched_operands, keeps_axis, leading_indices
from topos.judge.samples.formats import has_floats
from topos.judge.samples.noise import Noise, disturbed, noise_of
from topos.judge.samples.sampling import Sampling, flushed, is_finite, lawless, opened, ranged
from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.program import Array, Kernel, single
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect.bits import BitcastConvert
from topos.stablehlo.dialect.conversion import Convert
from topos.stablehlo.dialect.random import Rng, RngBitGenerator
from topos.stablehlo.rounding import OfOperands
from topos.stablehlo.traits import Trait

# A copy for every sample of more bytes than this takes longer than to see one array as many.
COPIED = 1 << 16


def over_samples(
    context: BuildContext[Any], builder: Builder, kernel: Kernel, sampling: Sampling, free: bool
) -> Any:
    """Returns the kernel of an operation over samples, with its noise.

    Where it is `free`, numbers also take the freedom of the run.
    """
    op = context.op
    applied = _applied(context, builder, kernel)
    moved = disturbed(op, sampling)
    if moved is not None:
        applied = _Disturbed(applied, moved)
    noises = [
        noise_of(op, place, context.regions, sampling) for place in range(len(context.results))
    ]
    if len(noises) == 1 and noises[0] is not None:
        applied = _Rounded(applied, noises[0])
    elif any(noises):
        applied = _AllRounded(applied, noises)
    if free:
        applied = _freed(context, applied, sampling)
    if Trait.DECIDES in op.traits and any(map(has_floats, op.operands)):
        applied = _Deciding(applied, sampling)
    return applied


def _applied(context: BuildContext[Any], builder: Builder, kernel: Kernel) -> Any:
    """Returns the kernel over samples, without noise."""
    op = context.op
    shapes = [type.shape for type in (*context.operands, *context.results)]
    rank = len(shapes[-1])
    if not op.is_elementwise or isinstance(op, BitcastConvert):
        return _Over(context, builder, kernel)
    if shapes.count(shapes[-1]) == len(shapes):
        return kernel if isinstance(kernel, np.ufunc) else _Pointwise(kernel)
    if all(not shape or shape == shapes[-1] for shape in shapes):
        # Scalars go with every element of their own sample.
        longer = tuple([(-1,) + (1,) * rank if not shape else None for shape in shapes[:-1]])
        return _Stretched(kernel, longer)
    return _Over(context, builder, kernel)


class _Pointwise(NamedTuple):
    """A kernel of elements, of operands that may stand for all samples."""

    kernel: Kernel

    def __call__(self, *operands: Array) -> Any:
        count = len(operands[0])
        for each in operands:
            if len(each) != count:
                return self.kernel(*_alike(operands))
        return self.kernel(*operands)


class _Stretched(NamedTuple):
    """A kernel of elements and scalars, whose one axis gets others behind it."""

    kernel: Kernel
    shapes: tuple[tuple[int, ...] | None, ...]

    def __call__(self, *operands: Array) -> Any:
        pairs = zip(_alike(operands), self.shapes, strict=True)
        return self.kernel(
            *[each if shape is None else each.reshape(shape) for each, shape in pairs]
        )


def _alike(operands: Sequence[Array]) -> list[Array]:
    """Returns operands that all have as many samples."""
    count = max(map(len, operands))
    return [each if len(each) == count else _repeated(each, count) for each in operands]


def _repeated(array: Array, count: int) -> Array:
    if array.nbytes * count > COPIED:
        return np.broadcast_to(array, (count, *array.shape[1:]))
    return array.repeat(count, 0)


class _Over:
    """An operation over any number of samples: as one with an axis more, or sample by sample."""

    def __init__(self, context: BuildContext[Any], builder: Builder, kernel: Kernel) -> None:
        self._context, self._builder, self._kernel = context, builder, kernel
        self._taken = batched_operands(context.op)
        self._leading, self._keeps = leading_indices(context.op), keeps_axis(context.op)
        self._kernels: dict[int, Kernel | None] = {}

    def __call__(self, *operands: Array) -> Any:
        count = 1
        for each in operands:
            if len(each) > count:
                count = len(each)
        if count not in self._kernels:
            self._kernels[count] = self._built(count)
        kernel = self._kernels[count]
        taken = self._taken
        if taken == len(operands):
            if kernel is not None:
                return kernel(*(operands if taken == 1 else _alike(operands)))
        elif kernel is not None and all(len(each) == 1 for each in operands[taken:]):
            whole = [
                each if len(each) == count else _repeated(each, count) for each in operands[:taken]
            ]
            rest = operands[taken:] if self._keeps else [each[0] for each in operands[taken:]]
            return kernel(*whole, *self._leading, *rest)
        return self._one_by_one(operands, count)

    def _one_by_one(self, operands: Sequence[Array], count: int) -> Any:
        parts = [
            self._kernel(*[each[place if len(each) > 1 else 0] for each in operands])
            for place in range(count)
        ]
        if len(self._context.results) == 1:
            return np.stack(parts) if count > 1 else parts[0][None]
        return [np.stack(column) for column in zip(*parts, strict=True)]

    def _built(self, count: int) -> Kernel | None:
        """Returns the kernel of the operation with an axis of so many samples, if there is one."""
        context = self._context
        op = None if context.captures else batched(context.op, count)
        if op is None:
            return None
        made = self._builder(BuildContext(op, context.regions, 0, context.function, context.exact))
        return None if isinstance(made, Constant) else made


class _Disturbed(NamedTuple):
    """An operation whose operands have the noise that stands for its own."""

    applied: Kernel
    moved: Callable[[Array], Array]

    def __call__(self, *operands: Array) -> Any:
        return self.applied(*map(self.moved, operands))


class _Rounded:
    """An operation of one result, which has noise."""

    __slots__ = ("_applied", "_noise")

    def __init__(self, applied: Kernel, noise: Noise) -> None:
        self._applied, self._noise = applied, noise

    def __call__(self, *operands: Array) -> Array:
        return self._noise(operands, self._applied(*operands), self._applied)


class _AllRounded(NamedTuple):
    """An operation of several results, some of which have noise."""

    applied: Kernel
    noises: Sequence[Noise | None]

    def __call__(self, *operands: Array) -> list[Array]:
        pairs = zip(self.applied(*operands), self.noises, strict=True)
        return [
            each if noise is None else noise(operands, each, self.applied) for each, noise in pairs
        ]


def _freed(context: BuildContext[Any], applied: Kernel, sampling: Sampling) -> Kernel:
    op = context.op
    underflows = Trait.UNDERFLOWS in op.traits
    is_algorithm, is_open = isinstance(op.rounding, OfOperands), _is_open(op)

    def freed(*given: Array) -> Any:
        operands = given if op.is_layout else flushed(sampling, given)
        results = applied(*operands)
        listed = [results] if len(context.results) == 1 else results
        if not op.is_layout:
            listed = [ranged(sampling, each, operands, underflows) for each in listed]
        if is_open or (is_algorithm and not is_finite(operands)):
            listed = [lawless(sampling, each) for each in listed]
        if isinstance(op, Convert):
            listed = [opened(sampling, operands[0], each) for each in listed]
        return single(listed)

    return freed


def _is_open(op: Definition) -> bool:
    """Returns whether an implementation chooses what the operation gives."""
    if isinstance(op, RngBitGenerator):
        return op.rng_algorithm == "DEFAULT"
    return isinstance(op, Rng)


class _Deciding(NamedTuple):
    """An operation that decides of numbers; it counts where samples disagree."""

    applied: Kernel
    sampling: Sampling

    def __call__(self, *operands: Array) -> Any:
        results = self.applied(*operands)
        last = results if isinstance(results, np.ndarray) else results[-1]
        if len(last) > 1:
            differing = last != last[:1]
            if np.count_nonzero(differing):
                self.sampling.decisions += int(differing.any(axis=0).sum())
        return results
