"""Learns exclusive or: one recorded training step, which every runtime then trains by itself.

Loss, gradients and Adam's update are one recording. Its module, `demo/xor.mlir`, takes parameters,
the optimizer's state and the four samples to the next parameters, the next state and the loss; each
next value may take the buffer of the one that it follows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from artifacts import write
from everywhere import Forward, others, rows, trial
from terminal import Console, Progress, Table, bounded, progress, runtimes_table, unwritable

from topos import (
    Adam,
    Mlp,
    Parameters,
    Plan,
    RecordedStep,
    Symbol,
    Tape,
    bce_with_logits,
    init,
    label,
    parameters,
    record_step,
)

SAMPLES: Final = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
ANSWERS: Final = np.array([[0], [1], [1], [0]], np.float32)
FEEDS: Final[dict[Symbol | str, Any]] = {"samples": SAMPLES, "answers": ANSWERS}
WIDTHS: Final = (2, 8, 1)
CAPTION: Final = (
    "One step: how far any result is from the oracle's, beside the largest element of that result."
    " Trained: the loss after all steps, the runtime fed its own results."
)


class Model(NamedTuple):
    """The recorded step and the plans that read it: one step, and the answers."""

    step: RecordedStep
    training: Plan
    answering: Plan


def record(seed: int, rate: float) -> Model:
    """Records a perceptron of one hidden layer, its loss, and one step of Adam."""
    tape = Tape()
    perceptron = Mlp(tape, WIDTHS, weights=init.xavier(seed))
    label(tape, perceptron)
    samples = tape.input(shape=SAMPLES.shape, name="samples")
    targets = tape.input(shape=ANSWERS.shape, name="answers")
    logits = perceptron.express(tape, samples)
    logits.logistic().named("probabilities")
    loss = bce_with_logits(logits, targets).named("loss")
    step = record_step(tape, loss, parameters(perceptron), Adam(rate))
    network = tape.into_network()
    training, answering = (network.entry(each) for each in (step.roots(), ["probabilities"]))
    return Model(step, training.lower(), answering.lower())


def train(model: Model, forward: Forward, steps: int, bar: Progress | None = None) -> Parameters:
    """Returns parameters and state after so many steps, each one call of `forward`."""
    state = model.training.network.parameters()
    task = bar.add_task("training", total=steps, loss=float("nan")) if bar else None
    for _ in range(steps):
        run = forward(state, FEEDS)
        state = model.step.advanced(state, run)
        if bar and task is not None:
            bar.update(task, advance=1, loss=run.of("loss").item())
    return state


def answers(model: Model, state: Parameters) -> Table:
    """Returns the four samples beside what the network answers."""
    probabilities = model.answering.forward(state, {"samples": SAMPLES}).of("probabilities")
    columns = Table("x", "y", "x xor y", "learned", title="exclusive or")
    for (x, y), wanted, own in zip(SAMPLES, ANSWERS, probabilities.numpy(), strict=True):
        columns.add_row(f"{x:.0f}", f"{y:.0f}", f"{wanted.item():.0f}", f"{own.item():.3f}")
    return columns


def everywhere(model: Model, steps: int) -> Table:
    """Returns what every runtime makes of one step, and of a whole training."""

    def use(forward: Forward) -> str:
        last = forward(train(model, forward, steps), FEEDS)
        return f"{last.of('loss').item():.6f}"

    trials = [trial(model.training, model.training.network.parameters(), FEEDS, use)]
    headings = "one step", "ms", "trained"
    return runtimes_table(rows(trials), headings, "the step on every runtime", CAPTION)


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Learn exclusive or by an emitted training step, on every runtime.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--steps", type=int, default=200, help="steps, all four samples in each")
    parser.add_argument("--seed", type=int, default=0, help="of the weights")
    parser.add_argument("--rate", type=float, default=0.1, help="the learning rate")
    parser.add_argument("--out", type=Path, default=Path("demo/xor.mlir"), help="the module")
    return bounded(parser, arguments, {"steps": (1, 100_000), "seed": (0, 2**63)})


def main(arguments: list[str] | None = None) -> int:
    """Trains, answers, and trains again on every runtime; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    model = record(chosen.seed, chosen.rate)
    try:
        text = model.training.emit_stablehlo(donate=model.step.following)
        write(text.encode(), chosen.out)
    except OSError as error:
        return unwritable(chosen.out, error)
    with progress(console, "steps") as bar:
        state = train(model, model.training.forward, chosen.steps, bar)
    console.print(answers(model, state))
    console.print(f"{chosen.out} holds the step: {len(model.training.order)} nodes")
    console.print(everywhere(model, chosen.steps))
    console.print(others(), markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
