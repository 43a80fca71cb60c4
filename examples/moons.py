"""Separates two moons and draws the decision boundary.

The picture, `demo/moons.png`, is one run of `demo/moons.mlir`: the module that answers how likely
each point of a grid belongs to the second moon. Every runtime answers it too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from artifacts import figure, write, write_figure
from everywhere import others, rows, trial
from terminal import Console, Progress, bounded, progress, runtimes_table, unwritable

from topos import (
    Activation,
    Mlp,
    Network,
    Parameters,
    RecordedStep,
    Sgd,
    Symbol,
    Tape,
    bce_with_logits,
    init,
    label,
    parameters,
    record_step,
    schedule,
)

try:
    from sklearn.datasets import make_moons
except ImportError:
    needs = "the moons need scikit-learn: pip install 'topos-compiler[examples]'"
    print(needs, file=sys.stderr)
    raise SystemExit(2) from None

WIDTHS: Final = (2, 16, 16, 1)
TRAINED_ON, TESTS, NOISE = 400, 200, 0.2
BATCH: Final = 50
STEPS_AN_EPOCH: Final = TRAINED_ON // BATCH
# Points of the grid to a side, and what of the plane it covers.
SIDE: Final = 61
LEFT, RIGHT, BOTTOM, TOP = -1.75, 2.75, -1.25, 1.75
CAPTION: Final = (
    "The grid: how far any probability is from the oracle's, beside the largest of them. One step:"
    " the same of loss, parameters and velocity, each beside its own largest element."
)

Array = npt.NDArray[Any]
Feeds = dict[Symbol | str, Array]


class Points(NamedTuple):
    """Points of the plane, `[samples, 2]`, and which moon each is of, `[samples, 1]`."""

    places: Array
    moons: Array

    def batches(self, random: np.random.Generator) -> Iterator[Feeds]:
        """Yields the points in random order, a batch at a time."""
        for chosen in random.permutation(len(self.places)).reshape(-1, BATCH):
            yield {"places": self.places[chosen], "moons": self.moons[chosen]}


def load(seed: int) -> tuple[Points, Points]:
    """Returns 400 points to train on and 200 others to test with."""
    places, moons = make_moons(TRAINED_ON + TESTS, noise=NOISE, random_state=seed)
    points = Points(places.astype(np.float32), moons.astype(np.float32)[:, None])
    first, last = slice(TRAINED_ON), slice(TRAINED_ON, None)
    return Points(*(each[first] for each in points)), Points(*(each[last] for each in points))


def record(seed: int, rate: float, epochs: int) -> tuple[Network, RecordedStep]:
    """Records a step over a batch, and the probabilities of the tests and of the grid."""
    tape = Tape()
    perceptron = Mlp(tape, WIDTHS, weights=init.xavier(seed), activation=Activation.TANH)
    label(tape, perceptron)
    places = tape.input(shape=[BATCH, 2], name="places")
    moons = tape.input(shape=[BATCH, 1], name="moons")
    loss = bce_with_logits(perceptron.express(tape, places), moons).named("loss")
    every = max(epochs // 4, 1) * STEPS_AN_EPOCH
    optimizer = Sgd(schedule.staircase(rate, every, factor=0.5), momentum=0.9, nesterov=True)
    step = record_step(tape, loss, parameters(perceptron), optimizer)
    for name, count in (("tests", TESTS), ("grid", SIDE * SIDE)):
        points = tape.input(shape=[count, 2], name=name)
        perceptron.express(tape, points).logistic().named(f"{name} probabilities")
    return tape.into_network(), step


def train(
    network: Network, step: RecordedStep, points: Points, chosen: argparse.Namespace, bar: Progress
) -> Parameters:
    """Returns parameters and state after every epoch."""
    plan = network.entry(step.roots(), numerics=chosen.numerics).lower()
    random, state = np.random.default_rng(chosen.seed), network.parameters()
    task = bar.add_task("training", total=chosen.epochs, loss=float("nan"))
    for _ in range(chosen.epochs):
        losses = []
        for feeds in points.batches(random):
            run = plan.forward(state, feeds)
            state = step.advanced(state, run)
            losses.append(run.of("loss").item())
        bar.update(task, advance=1, loss=float(np.mean(losses)))
    return state


def accuracy(network: Network, state: Parameters, tests: Points) -> float:
    """Returns the share of the tests on the right side of the boundary."""
    name = "tests probabilities"
    run = network.entry([name]).lower().forward(state, {"tests": tests.places})
    return float(np.mean((run.of(name).numpy() > 0.5) == (tests.moons > 0.5)))


def grid() -> Array:
    """Returns the points of the grid, `[SIDE * SIDE, 2]`, row by row from below."""
    x, y = np.meshgrid(np.linspace(LEFT, RIGHT, SIDE), np.linspace(BOTTOM, TOP, SIDE))
    return np.stack([x.reshape(-1), y.reshape(-1)], 1).astype(np.float32)


def drawn(probabilities: Array, tests: Points, share: float) -> Any:
    """Returns the picture: shades of probability, a line where it is a half, and the tests."""
    picture = figure(7.0, 5.0)
    axes = picture.subplots()
    x, y = np.linspace(LEFT, RIGHT, SIDE), np.linspace(BOTTOM, TOP, SIDE)
    shades = probabilities.reshape(SIDE, SIDE)
    filled = axes.contourf(x, y, shades, levels=np.linspace(0, 1, 21), cmap="RdBu", alpha=0.8)
    axes.contour(x, y, shades, levels=[0.5], colors="black")
    for moon, color in ((0.0, "#a50026"), (1.0, "#313695")):
        own = tests.places[tests.moons[:, 0] == moon]
        axes.scatter(*own.T, s=14, color=color, edgecolors="white", linewidths=0.5)
    axes.set_title(f"{share:.1%} of {TESTS} points not trained on")
    picture.colorbar(filled, ax=axes, label="probability of the second moon")
    return picture


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Separate two moons, draw the boundary, answer the grid on every runtime.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--epochs", type=int, default=100, help="passes over the points")
    parser.add_argument("--seed", type=int, default=0, help="of the points, weights and batches")
    parser.add_argument("--rate", type=float, default=0.1, help="the learning rate of the start")
    parser.add_argument(
        "--numerics", choices=["fast", "exact"], default="fast", help="what the training runs in"
    )
    parser.add_argument("--out", type=Path, default=Path("demo/moons"), help="the files, bare")
    return bounded(parser, arguments, {"epochs": (1, 100_000), "seed": (0, 2**32 - 1)})


def main(arguments: list[str] | None = None) -> int:
    """Trains, tests, draws, and answers the grid on every runtime; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    points, tests = load(chosen.seed)
    network, step = record(chosen.seed, chosen.rate, chosen.epochs)
    plan = network.entry(["grid probabilities"]).lower()
    module, picture = (chosen.out.with_suffix(suffix) for suffix in (".mlir", ".png"))
    try:
        write(plan.emit_stablehlo().encode(), module)
    except OSError as error:
        return unwritable(module, error)
    with progress(console, "epochs") as bar:
        state = train(network, step, points, chosen, bar)
    share = accuracy(network, state, tests)
    console.print(f"test accuracy {share:.1%}, on {TESTS} points not trained on")

    feeds: Feeds = {"grid": grid()}
    probabilities = plan.forward(state, feeds).of("grid probabilities").numpy()
    write_figure(drawn(probabilities, tests, share), picture)
    console.print(f"{picture} shows the boundary, {module} answers the grid it is drawn by")
    batch = next(points.batches(np.random.default_rng(chosen.seed)))
    trials = [trial(plan, state, feeds), trial(network.entry(step.roots()).lower(), state, batch)]
    headings = "the grid", "ms", "one step", "ms"
    console.print(runtimes_table(rows(trials), headings, "the moons on every runtime", CAPTION))
    console.print(others(), markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
