"""Trains a digits classifier by its emitted step alone, beside the trajectory of the oracle.

Loss, gradients and the optimizer's update are one recording, whose module takes parameters, state
and a batch to the next parameters, state and the loss, each next value in the buffer of the one it
follows. Each runtime is fed its own results and no weight is touched in between. The table holds
the loss of the batch at some steps, how far the last is from the oracle's, and the time of a step;
the command fails where a runtime ends further than 1e-4 from the oracle.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from topos import (
    Activation,
    AdamW,
    Clipped,
    Mlp,
    Plan,
    RecordedStep,
    Symbol,
    Tape,
    cross_entropy,
    init,
    label,
    matrices,
    record_step,
    runtimes,
    schedule,
)
from topos import parameters as parameters_of

BATCH: Final = 50
WIDTHS: Final = (64, 32, 10)
SEED: Final = 0
# How far the last loss may be from the oracle's, relative to it.
BOUND: Final = 1e-4
# In how many parts the table divides the steps.
MARKS: Final = 5

Array = npt.NDArray[Any]
Feeds = dict[Symbol | str, Array]
Call = Callable[..., tuple[Array, ...]]


class Training(NamedTuple):
    """One training: the loss of each step, the last parameters and state, seconds a step."""

    losses: list[float]
    final: bytes
    seconds: float


def recorded(steps: int) -> tuple[Mapping[str, Plan], RecordedStep]:
    """Records a step of AdamW, its rate warmed up and lowered, its gradients clipped."""
    tape = Tape()
    model = Mlp(tape, WIDTHS, weights=init.xavier(SEED), activation=Activation.TANH)
    label(tape, model)
    pixels = tape.input(shape=[BATCH, WIDTHS[0]], name="pixels")
    classes = tape.input(np.zeros(BATCH, np.int64), name="classes")
    loss = cross_entropy(model.express(tape, pixels), classes).named("loss")
    rate = schedule.warm_up(20, schedule.cosine(1e-2, max(steps - 20, 1)))
    optimizer = Clipped(AdamW(rate, policy=matrices), 1.0)
    step = record_step(tape, loss, parameters_of(model), optimizer)
    network = tape.into_network()
    plans = {each: network.entry(step.roots(), numerics=each).lower() for each in ("exact", "fast")}
    return plans, step


def batches(steps: int) -> list[Feeds]:
    """Returns a batch of digits for each step: pixels between 0 and 1, and integer classes."""
    digits, random = load_digits(), np.random.default_rng(SEED)
    pixels, classes = (digits.data / 16).astype(np.float32), digits.target.astype(np.int64)
    chosen = [random.permutation(len(pixels))[:BATCH] for _ in range(steps)]
    return [{"pixels": pixels[each], "classes": classes[each]} for each in chosen]


def trained(plan: Plan, step: RecordedStep, call: Call, feeds: list[Feeds]) -> Training:
    """Returns the training in which `call` takes the arguments of the emitted module."""
    signature = plan.signature()
    moves = step.donations(signature)
    inputs = {port.name: place for place, port in enumerate(signature.arguments)}
    arguments = list(plan.arguments(None, feeds[0]))
    losses, seconds = [], []
    for batch in feeds:
        for name, array in batch.items():
            arguments[inputs[str(name)]] = array
        start = time.perf_counter()
        results = call(*arguments)
        seconds.append(time.perf_counter() - start)
        losses.append(float(results[-1]))
        for place, result in moves.items():
            arguments[place] = results[result]
    final = b"".join(arguments[place].tobytes() for place in moves)
    return Training(losses, final, statistics.median(seconds))


def oracle(plan: Plan, step: RecordedStep, feeds: list[Feeds]) -> Training:
    """Returns the training by the oracle, whose every node is computed by definition."""
    entry = plan.network.entry(plan.results)
    parameters, losses, seconds = plan.network.parameters(), [], []
    for batch in feeds:
        start = time.perf_counter()
        run = entry.interpret(parameters, batch)
        seconds.append(time.perf_counter() - start)
        losses.append(run.of(step.loss).item())
        parameters = step.advanced(parameters, run)
    final = b"".join(parameters.of(at).numpy().tobytes() for at in step.following)
    return Training(losses, final, statistics.median(seconds))


def rows(steps: int) -> dict[str, Training]:
    """Returns the training by the oracle and by each runtime that is ready, in both numerics."""
    plans, step = recorded(steps)
    feeds = batches(steps)
    found = {"the oracle": oracle(plans["exact"], step, feeds)}
    for name in ("interpreter", "xla"):
        status = runtimes.load(name).status()
        if not status.ready:
            print(f"{name}: {status.detail}")
            continue
        for numerics, plan in plans.items():
            text = plan.emit_stablehlo(donate=step.following)
            executable = runtimes.load(name).compile(text, numerics=numerics)
            found[f"{name}, {numerics}"] = trained(plan, step, executable, feeds)
    return found


def line(training: Training, own: Training, marks: list[int]) -> str:
    """Returns one row of the table after its title."""
    losses = " | ".join(f"{training.losses[mark]:.6f}" for mark in marks)
    away = abs(training.losses[-1] - own.losses[-1]) / own.losses[-1]
    bits = training.losses == own.losses and training.final == own.final
    distance = "bits equal" if bits else f"{away:.0e}"
    return f"{losses} | {distance} | {training.seconds * 1e6:,.0f} |"


def main() -> int:
    """Prints the table of the curve; returns 1 where a runtime ends too far from the oracle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="steps to train (300)")
    steps = parser.parse_args().steps
    if steps < 1:
        parser.error(f"--steps needs 1 or more, got {steps}")
    trainings = rows(steps)
    own = trainings["the oracle"]
    marks = sorted({max(round(steps * part / MARKS), 1) - 1 for part in range(MARKS + 1)})
    titles = " | ".join(f"step {mark + 1}" for mark in marks)
    print(f"| trained by | {titles} | from the oracle | µs a step |")
    print(f"|---|{'---|' * (len(marks) + 2)}")
    for name, training in trainings.items():
        print(f"| {name} | {line(training, own, marks)}")
    ends = [each.losses[-1] for each in trainings.values()]
    return int(any(abs(end - ends[0]) > BOUND * ends[0] for end in ends))


if __name__ == "__main__":
    raise SystemExit(main())
