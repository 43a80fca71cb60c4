"""Schedules: learning rates as functions of the number of steps taken, for every reading."""

from __future__ import annotations

import math
from functools import partial
from typing import Final, Protocol

from topos import i32
from topos.errors import ArgumentError
from topos.neural.formula import R, is_number

# An f32 counts no further one by one.
MOST_STEPS: Final = 2**24


class Schedule(Protocol):
    """A learning rate, of rank 0, from the floating count of the steps taken before this one."""

    def __call__(self, count: R, /) -> R: ...


LearningRate = float | Schedule
"""The same number for every step, or a schedule."""


def rate(learning_rate: LearningRate, count: R) -> R:
    """Returns the learning rate of the step that `count` steps precede."""
    return learning_rate(count) if callable(learning_rate) else count.fill(float(learning_rate))


def demand_rate(name: str, learning_rate: LearningRate) -> None:
    """Raises `ArgumentError` where a learning rate is neither a schedule nor zero or more."""
    # Most classes can be called, and none of them is a schedule.
    is_schedule = callable(learning_rate) and not isinstance(learning_rate, type)
    if not is_schedule and not is_number(learning_rate, 0.0):
        raise ArgumentError(f"{name} needs a finite rate of zero or more, got {learning_rate!r}")


def constant(value: float) -> Schedule:
    """Returns the schedule that is `value` at every step."""
    demand_rate("constant", value)
    return partial(_constant, value=value)


def cosine(peak: float, steps: int, *, floor: float = 0.0) -> Schedule:
    """Returns the schedule that falls from `peak` to `floor` in half a cosine of `steps` steps.

    It stays at `floor` afterwards (Loshchilov and Hutter, 2017, section 3, without restarts).
    """
    for value in (peak, floor):
        demand_rate("cosine", value)
    return partial(_cosine, peak=peak, steps=_steps("cosine", steps), floor=floor)


def staircase(start: float, every: int, *, factor: float) -> Schedule:
    """Returns the schedule that begins at `start` and is multiplied by `factor` each `every` steps.

    It is `start * factor ** (count // every)`.
    """
    if not is_number(factor, 0.0) or not factor:
        raise ArgumentError(f"staircase needs a positive finite factor, got {factor!r}")
    demand_rate("staircase", start)
    return partial(_staircase, start=start, every=_steps("staircase", every), factor=factor)


def warm_up(steps: int, then: LearningRate) -> Schedule:
    """Returns the schedule that rises from zero in `steps` even steps, then follows `then`.

    The first step's rate is zero; the first of `then` is what the rise ends in, so `then` counts
    from the end of the rise.
    """
    demand_rate("warm_up", then)
    return partial(_warm_up, steps=_steps("warm_up", steps), then=then)


def _constant(count: R, /, *, value: float) -> R:
    return count.fill(float(value))


def _cosine(count: R, /, *, peak: float, steps: int, floor: float) -> R:
    angle = count.minimum(float(steps)) * (math.pi / steps)
    return floor + (0.5 * (peak - floor)) * (1.0 + angle.cos())


def _staircase(count: R, /, *, start: float, every: int, factor: float) -> R:
    # The half keeps a division that rounds down from falling below a whole number of stairs.
    stairs = ((count + 0.5) / float(every)).convert(i32).convert(count.element)
    return float(start) * float(factor) ** stairs


def _warm_up(count: R, /, *, steps: int, then: LearningRate) -> R:
    after = (count - float(steps)).maximum(0.0)
    # Past the rise the factor is exactly one, and so is a multiplication by it.
    return rate(then, after) * (count / float(steps)).minimum(1.0)


def _steps(schedule: str, steps: int) -> int:
    if not isinstance(steps, int) or not 0 < steps <= MOST_STEPS:
        raise ArgumentError(f"{schedule} needs 1 to {MOST_STEPS} steps, got {steps!r}")
    return steps
