"""Elementwise operations in blocks beside whole arrays: by a plan, and in numpy by hand.

The plans are those of one recording, with the pattern for arrays of every size and for none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from topos import Plan, Tape, Value
from topos.engine.catalog import elementwise

Array = npt.NDArray[np.float32]
ByHand = Callable[[Array, Array, Array, Array, Array], None]

SIZES = (1_000_000, 2_000_000, 3_000_000, 5_000_000, 10_000_000)
BLOCK = 1 << 16
ROUNDS = 41


class Formula(NamedTuple):
    """A formula of two values, and the same in numpy: `x`, `y`, scratch twice, `out`."""

    recorded: Callable[[Value, Value], Value]
    by_hand: ByHand
    scratch: int


def chain(x: Value, y: Value) -> Value:
    """Records eight operations, each of which reads the one before."""
    value = (x * 0.5 + y).maximum(x) - 0.5
    return x / (value * value + 2.0) * y


def chain_by_hand(x: Array, y: Array, first: Array, second: Array, out: Array) -> None:
    """Computes each of them over the one before."""
    np.multiply(x, np.float32(0.5), out=out)
    np.add(out, y, out=out)
    np.maximum(out, x, out=out)
    np.subtract(out, np.float32(0.5), out=out)
    np.multiply(out, out, out=out)
    np.add(out, np.float32(2.0), out=out)
    np.divide(x, out, out=out)
    np.multiply(out, y, out=out)


def moments(x: Value, y: Value) -> Value:
    """Records a quotient of moments, as Adam has it: three values are alive at once."""
    return (x * 0.9 + y * 0.1) / (((x * x) * 0.9 + (y * y) * 0.1).sqrt() + 1e-6)


def moments_by_hand(x: Array, y: Array, first: Array, second: Array, out: Array) -> None:
    """Computes the same with two arrays beside the result."""
    np.multiply(x, np.float32(0.9), out=out)
    np.multiply(y, np.float32(0.1), out=first)
    np.add(out, first, out=out)
    np.multiply(x, x, out=first)
    np.multiply(first, np.float32(0.9), out=first)
    np.multiply(y, y, out=second)
    np.multiply(second, np.float32(0.1), out=second)
    np.add(first, second, out=first)
    np.sqrt(first, out=first)
    np.add(first, np.float32(1e-6), out=first)
    np.divide(out, first, out=out)


FORMULAS = {
    "8 operations in a row": Formula(chain, chain_by_hand, 0),
    "11 operations, three values alive": Formula(moments, moments_by_hand, 2),
}


def blocked(by_hand: ByHand, x: Array, y: Array, first: Array, second: Array, out: Array) -> None:
    """Computes the whole formula for a block of elements before the next ones."""
    for start in range(0, len(x), BLOCK):
        block = slice(start, start + BLOCK)
        length = len(x[block])
        by_hand(x[block], y[block], first[:length], second[:length], out[block])


def planned(formula: Formula, size: int, least: int | None = None) -> Plan:
    """Returns the plan of `formula`, with the pattern from `least` bytes on if that is given."""
    tape = Tape()
    result = formula.recorded(*(tape.input(shape=(size,), name=name) for name in "xy"))
    plan = tape.into_network().entry([result.symbol]).lower()
    if least is None:
        plan.schedule()
        return plan
    with (
        patch.object(elementwise, "_LEAST_BYTES", least),
        patch.object(elementwise, "_LEAST_ELEMENTS", 1),
    ):
        plan.schedule()
    return plan


def least_times(rivals: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Returns the least seconds of processor time of each rival, in rounds of all."""
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(ROUNDS):
        for name, rival in rivals.items():
            start = time.process_time()
            rival()
            best[name] = min(best[name], time.process_time() - start)
    return best


def measured(formula: Formula, size: int) -> None:
    """Prints the milliseconds and the memory of each way to compute `formula`."""
    random = np.random.default_rng(0)
    x, y, out, first, second = np.empty((5, size), np.float32)
    x[:], y[:] = random.standard_normal((2, size), np.float32)
    rooms = first, second, out
    parts = first[:BLOCK], second[:BLOCK], out
    rivals: dict[str, Callable[[], object]] = {
        "numpy, whole arrays": partial(formula.by_hand, x, y, *rooms),
        "numpy, blocks of 65,536": partial(blocked, formula.by_hand, x, y, *parts),
    }
    memory = dict(zip(rivals, (4 * size * (1 + formula.scratch), 4 * size), strict=True))
    formula.by_hand(x, y, *rooms)
    for name, least in (("plan, whole arrays", 1 << 60), ("plan, blocks", 1)):
        plan = planned(formula, size, least)
        rivals[name] = partial(plan.forward, feeds={"x": x, "y": y})
        memory[name] = plan.memory().peak
        answer = plan.forward(feeds={"x": x, "y": y}).of(plan.results[0]).numpy()
        assert answer.tobytes() == out.tobytes()
    elected = "blocks" if planned(formula, size).patterns() else "whole arrays"
    print(f"{size:,} elements of f32, for which a plan takes {elected}")
    figures = least_times(rivals)
    for name, seconds in figures.items():
        share, held = seconds / figures["plan, whole arrays"], memory[name] / 1e6
        print(f"  {name:<24} {seconds * 1e3:>9.3f} ms {share:>6.2f}x {held:>7.1f} MB")


if __name__ == "__main__":
    for title, formula in FORMULAS.items():
        print(title)
        for size in SIZES:
            measured(formula, size)
