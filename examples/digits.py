"""Trains a classifier on handwritten digits, then runs its training step on every runtime.

The loss and its gradients are one recording, lowered to one forward-only plan. That plan is what
`demo/digits.mlir` holds: one step's loss and gradients as a function of parameters and a batch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos import (
    Adjoints,
    Network,
    Parameters,
    Plan,
    Run,
    Symbol,
    Tape,
    ToposError,
    Value,
    broadcast_to,
    runtimes,
)
from topos.runtimes.distance import largest_distance, same_bits

try:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Table
    from rich.text import Text
    from sklearn.datasets import load_digits
except ImportError:
    needs = "the digits need scikit-learn and rich: pip install 'topos-compiler[examples]'"
    print(needs, file=sys.stderr)
    raise SystemExit(2) from None

PIXELS, HIDDEN, CLASSES, TRAINED_ON = 64, 32, 10, 1500
MOMENTUM: Final = 0.9
# How long, and how often at most, a runtime is called to take its time.
SECONDS, MOST_CALLS = 0.5, 200
CAPTION: Final = (
    "ULP: units in the last place, at the worst element. A gradient near zero is what larger terms"
    " left when they cancelled, hence its many units; beside the largest element of its gradient"
    " no element is off by more than {:.0e}."
)

Array = npt.NDArray[Any]
Feeds = dict[Symbol | str, Array]


class Samples(NamedTuple):
    """Pixels between 0 and 1, `[samples, 64]`, and their classes, one-hot, `[samples, 10]`."""

    pixels: Array
    classes: Array

    def batches(self, size: int, random: np.random.Generator) -> Iterator[Feeds]:
        """Yields the samples in random order, `size` at a time; a remainder is left out."""
        order = random.permutation(len(self.pixels))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield {"pixels": self.pixels[chosen], "classes": self.classes[chosen]}


class Outcome(NamedTuple):
    """What a runtime made of the module; without distances, `detail` says why it made nothing."""

    runtime: str
    detail: str
    distances: tuple[int | None, ...] = ()
    furthest: float = 0.0
    microseconds: float = 0.0

    def cells(self) -> tuple[str, ...]:
        """Returns the row of the table: loss and gradients apart."""
        if not self.distances:
            return self.runtime, self.detail, "-", "-", "-"
        parts = [told(self.distances[:1]), told(self.distances[1:])]
        return self.runtime, f"ready: {self.detail}", *parts, f"{self.microseconds:,.0f}"


def load(random: np.random.Generator) -> tuple[Samples, Samples]:
    """Returns 1,500 samples to train on and the other 297 to test with."""
    digits = load_digits()
    order = random.permutation(len(digits.data))
    pixels = (digits.data[order] / 16).astype(np.float32)
    classes = np.eye(CLASSES, dtype=np.float32)[digits.target[order]]
    first, last = slice(TRAINED_ON), slice(TRAINED_ON, None)
    return Samples(pixels[first], classes[first]), Samples(pixels[last], classes[last])


def record(batch: int, tests: int, random: np.random.Generator) -> tuple[Network, Adjoints]:
    """Records the loss over `batch` samples, its gradients, and the logits of `tests` samples."""
    tape = Tape()
    weights = [
        tape.parameter(drawn(PIXELS, HIDDEN, random), name="hidden_weight"),
        tape.parameter(np.zeros(HIDDEN, np.float32), name="hidden_bias"),
        tape.parameter(drawn(HIDDEN, CLASSES, random), name="output_weight"),
        tape.parameter(np.zeros(CLASSES, np.float32), name="output_bias"),
    ]
    pixels = tape.input(shape=[batch, PIXELS], name="pixels")
    classes = tape.input(shape=[batch, CLASSES], name="classes")
    likelihood = (classes * logits(pixels, weights).log_softmax(1)).sum()
    loss = (-likelihood / float(batch)).named("loss")
    adjoints = tape.differentiate(loss, weights)
    logits(tape.input(shape=[tests, PIXELS], name="tests"), weights).named("logits")
    return tape.into_network(), adjoints


def drawn(inputs: int, outputs: int, random: np.random.Generator) -> Array:
    """Draws weights that keep the variance of their inputs (LeCun et al., 1998)."""
    draw = random.standard_normal((inputs, outputs)) / np.sqrt(inputs)
    return np.asarray(draw, np.float32)


def logits(pixels: Value, weights: list[Value]) -> Value:
    """Records a network of one hidden layer, `[samples, 64]` to `[samples, 10]`."""
    hidden_weight, hidden_bias, weight, bias = weights
    hidden = dense(pixels, hidden_weight, hidden_bias).tanh()
    return dense(hidden, weight, bias)


def dense(features: Value, weight: Value, bias: Value) -> Value:
    """Records a product and a bias for every sample."""
    product = features @ weight
    return product + broadcast_to(bias, product.shape)


def train(
    plan: Plan, adjoints: Adjoints, samples: Samples, chosen: argparse.Namespace, bar: Progress
) -> Parameters:
    """Returns the parameters after stochastic gradient descent with momentum."""
    random = np.random.default_rng(chosen.seed)
    parameters = plan.network.parameters()
    velocity = parameters.map(lambda payload: payload.fill(0.0))
    task = bar.add_task("training", total=chosen.epochs, loss=float("nan"))
    for _ in range(chosen.epochs):
        losses = []
        for feeds in samples.batches(chosen.batch, random):
            run = plan.forward(parameters, feeds)
            gradients = run.recorded_gradients(adjoints)
            velocity = velocity.zip(gradients, lambda old, new: MOMENTUM * old + new)
            parameters = parameters.step(velocity, lambda own, v: own - chosen.rate * v)
            losses.append(run.of("loss").item())
        bar.update(task, advance=1, loss=statistics.fmean(losses))
    return parameters


def accuracy(network: Network, parameters: Parameters, tests: Samples) -> float:
    """Returns the share of the tests whose largest logit is that of their class."""
    run = network.entry(["logits"]).lower().forward(parameters, {"tests": tests.pixels})
    guesses = run.of("logits").numpy().argmax(axis=1)
    return float(np.mean(guesses == tests.classes.argmax(axis=1)))


def outcome(name: str, plan: Plan, feeds: Feeds, oracle: Run) -> Outcome:
    """Returns what the runtime called `name` makes of the module of `plan`, at the first step."""
    status = runtimes.load(name).status()
    if not status.ready:
        return Outcome(name, status.detail)
    try:
        # The distance is that of the separate roundings; a runtime left to itself merges some.
        compiled = plan.compile(name, numerics="exact")
        run = compiled.forward(feeds=feeds)
        duration = microseconds(compiled.executable, plan, feeds)
    except ToposError as error:
        return Outcome(name, f"failed: {error}")
    pairs = [(oracle.of(symbol).numpy(), run.of(symbol).numpy()) for symbol in plan.results]
    furthest = max(float(np.abs(own - its).max() / np.abs(own).max()) for own, its in pairs)
    distances = tuple([None if same_bits(*each) else largest_distance(*each) for each in pairs])
    return Outcome(name, status.detail, distances, furthest, duration)


def microseconds(executable: runtimes.Executable, plan: Plan, feeds: Feeds) -> float:
    """Returns the median duration of a call at the first step."""
    signature, parameters = plan.signature(), plan.network.parameters()
    arguments = [parameters.of(port.symbol).numpy() for port in signature.parameters]
    arguments += [feeds[port.name] for port in signature.inputs if port.name is not None]
    durations: list[float] = []
    while sum(durations) < SECONDS and len(durations) < MOST_CALLS:
        start = time.perf_counter()
        executable(*arguments)
        durations.append(time.perf_counter() - start)
    return statistics.median(durations) * 1e6


def told(distances: tuple[int | None, ...]) -> str:
    """Returns how far results are from the oracle, as the table says it; `None` is equal bits."""
    apart = [each for each in distances if each is not None]
    return f"{max(apart):,} ULP" if apart else "bits equal"


def table(outcomes: list[Outcome], title: str) -> Table:
    """Returns the outcomes as a table, one runtime a row."""
    furthest = max(each.furthest for each in outcomes)
    caption = CAPTION.format(furthest) if furthest else None
    columns = Table(title=title, caption=caption, caption_justify="left")
    columns.add_column("runtime")
    columns.add_column("ready, or why not")
    for heading in ("loss", "gradients", "µs a call"):
        columns.add_column(heading, justify="right", no_wrap=True)
    for each in outcomes:
        # Plain text: a name in brackets, as an extra has, is no markup here.
        columns.add_row(*map(Text, each.cells()))
    return columns


def others() -> str:
    """Returns one line on what the runtimes that this installation lacks would add."""
    missing = {name: each.detail for name, each in runtimes.status().items() if not each.ready}
    if not missing:
        return "every runtime is installed"
    ways = dict.fromkeys(detail.rpartition(": ")[2] for detail in missing.values())
    return f"{', '.join(missing)} would run the same module: {', '.join(ways)}"


def write(text: str, path: Path) -> None:
    """Writes the whole of `text` to `path` or leaves what was there."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Train on handwritten digits, emit one training step, run it everywhere.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training digits")
    parser.add_argument("--batch", type=int, default=50, help="digits in one step")
    parser.add_argument("--seed", type=int, default=0, help="of the split, weights and batches")
    parser.add_argument("--rate", type=float, default=0.1, help="the learning rate")
    parser.add_argument("--out", type=Path, default=Path("demo/digits.mlir"), help="the module")
    chosen = parser.parse_args(arguments)
    for name, least, most in (("epochs", 1, 10_000), ("batch", 1, TRAINED_ON), ("seed", 0, 2**63)):
        number = getattr(chosen, name)
        if not least <= number <= most:
            parser.error(f"--{name} needs {least} to {most}, got {number}")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Trains, tests, emits, and runs the module on every runtime; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    random = np.random.default_rng(chosen.seed)
    samples, tests = load(random)
    network, adjoints = record(chosen.batch, len(tests.pixels), random)
    plan = network.entry(["loss", *adjoints.roots()]).lower()
    try:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        write(plan.emit_stablehlo(), chosen.out)
    except OSError as error:
        print(f"{chosen.out} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    columns = TextColumn("training"), BarColumn(), MofNCompleteColumn()
    with Progress(
        *columns, TextColumn("epochs, loss {task.fields[loss]:.4f}"), console=console
    ) as bar:
        parameters = train(plan, adjoints, samples, chosen, bar)
    share = accuracy(network, parameters, tests)
    console.print(f"test accuracy {share:.1%}, on {len(tests.pixels)} digits not trained on")

    feeds = next(samples.batches(chosen.batch, random))
    oracle = network.entry(plan.results).interpret(feeds=feeds)
    outcomes = [outcome(name, plan, feeds, oracle) for name in runtimes.names()]
    console.print(f"{chosen.out} holds one step: {len(plan.order)} nodes, loss and gradients")
    console.print(table(outcomes, "one step on every runtime, against the oracle"))
    console.print(others(), markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
