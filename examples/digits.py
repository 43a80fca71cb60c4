"""Trains a classifier on handwritten digits, then runs its training step on every runtime.

The loss and its gradients are one recording, lowered to one forward-only plan. What the file
`demo/digits.mlir` holds is that plan: one step's loss and gradients as a function of the
parameters and a batch.
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

from topos import Adjoints, Network, Parameters, Plan, Run, Symbol, Tape, ToposError
from topos import broadcast_to, f32, runtimes
from topos.model import Value
from topos.runtimes.grade import Grade, graded

try:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Table
    from rich.text import Text
    from sklearn.datasets import load_digits
except ImportError as error:
    print(f"the digits need {error.name}: pip install 'topos-compiler[examples]'", file=sys.stderr)
    raise SystemExit(2) from None

PIXELS, HIDDEN, CLASSES, TRAINED_ON = 64, 32, 10, 1500
MOMENTUM: Final = 0.9
SECONDS, MOST_CALLS = 0.5, 200
"""How long, and how often at most, a runtime is called to take its time."""

Array = npt.NDArray[Any]
Feeds = dict[str | Symbol, Array]


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


class Classifier(NamedTuple):
    """The sealed recording: a loss over a batch, its gradients, and the logits of the tests."""

    network: Network
    adjoints: Adjoints

    def training(self) -> Plan:
        """Returns the plan of one step: the loss, then its gradients."""
        return self.network.entry(["loss", *self.adjoints.roots()]).lower()

    def accuracy(self, parameters: Parameters, tests: Samples) -> float:
        """Returns the share of the tests whose largest logit is that of their class."""
        run = self.network.entry(["logits"]).lower().forward(parameters, {"tests": tests.pixels})
        guesses = run.of("logits").numpy().argmax(axis=1)
        return float(np.mean(guesses == tests.classes.argmax(axis=1)))


class Outcome(NamedTuple):
    """What one runtime made of the module: a grade and microseconds a call, or why neither."""

    runtime: str
    detail: str
    grade: Grade | None = None
    microseconds: float | None = None

    def cells(self) -> tuple[str, str, str, str]:
        """Returns the row of the table."""
        if self.grade is None:
            return self.runtime, self.detail, "-", "-"
        distance = "bits equal" if self.grade.bits_equal else f"{self.grade.distance:,} ULP"
        return self.runtime, f"ready, {self.detail}", distance, f"{self.microseconds:,.0f}"


def load(random: np.random.Generator) -> tuple[Samples, Samples]:
    """Returns 1,500 samples to train on and the other 297 to test with."""
    digits = load_digits()
    order = random.permutation(len(digits.data))
    pixels = (digits.data[order] / 16).astype(np.float32)
    classes = np.eye(CLASSES, dtype=np.float32)[digits.target[order]]
    return (
        Samples(pixels[:TRAINED_ON], classes[:TRAINED_ON]),
        Samples(pixels[TRAINED_ON:], classes[TRAINED_ON:]),
    )


def record(batch: int, tests: int, random: np.random.Generator) -> Classifier:
    """Records the classifier over `batch` samples, its gradients, and over `tests` samples."""
    tape = Tape(element=f32)
    weights = [
        tape.parameter(scaled(random, PIXELS, HIDDEN), name="hidden_weight"),
        tape.parameter(np.zeros(HIDDEN, np.float32), name="hidden_bias"),
        tape.parameter(scaled(random, HIDDEN, CLASSES), name="output_weight"),
        tape.parameter(np.zeros(CLASSES, np.float32), name="output_bias"),
    ]
    pixels = tape.input(shape=(batch, PIXELS), name="pixels")
    classes = tape.input(shape=(batch, CLASSES), name="classes")
    likelihood = (classes * logits(pixels, *weights).log_softmax(1)).sum()
    loss = (-likelihood / float(batch)).named("loss")
    adjoints = tape.differentiate(loss, weights)
    logits(tape.input(shape=(tests, PIXELS), name="tests"), *weights).named("logits")
    return Classifier(tape.into_network(), adjoints)


def scaled(random: np.random.Generator, inputs: int, outputs: int) -> Array:
    """Draws weights that keep the variance of their inputs (LeCun et al., 1998)."""
    draw = random.standard_normal((inputs, outputs)) / np.sqrt(inputs)
    return draw.astype(np.float32)


def logits(
    pixels: Value, weight: Value, bias: Value, last_weight: Value, last_bias: Value
) -> Value:
    """Records a network of one hidden layer, `[samples, 64]` to `[samples, 10]`."""
    hidden = dense(pixels, weight, bias).tanh()
    return dense(hidden, last_weight, last_bias)


def dense(features: Value, weight: Value, bias: Value) -> Value:
    """Records a product and a bias for every sample."""
    product = features @ weight
    return product + broadcast_to(bias, product.shape)


def train(
    classifier: Classifier, samples: Samples, chosen: argparse.Namespace, console: Console
) -> Parameters:
    """Returns the parameters after stochastic gradient descent with momentum."""
    plan, random = classifier.training(), np.random.default_rng(chosen.seed)
    parameters = classifier.network.parameters()
    velocity = parameters.map(lambda payload: payload.fill(0.0))
    with Report(console, chosen.epochs) as report:
        for _ in range(chosen.epochs):
            losses = []
            for feeds in samples.batches(chosen.batch, random):
                run = plan.forward(parameters, feeds)
                gradients = run.recorded_gradients(classifier.adjoints)
                velocity = velocity.zip(gradients, lambda old, new: MOMENTUM * old + new)
                parameters = parameters.step(velocity, lambda own, v: own - chosen.rate * v)
                losses.append(run.of("loss").item())
            report.epoch(statistics.fmean(losses))
    return parameters


class Report:
    """The progress of training: a bar on a terminal, a few lines elsewhere."""

    def __init__(self, console: Console, epochs: int) -> None:
        self.console, self.epochs, self.done = console, epochs, 0
        self.bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("epochs, loss {task.fields[loss]:.4f}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("training", total=epochs, loss=float("nan"))

    def __enter__(self) -> Report:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def epoch(self, loss: float) -> None:
        """Tells of one more epoch and its mean loss."""
        self.done += 1
        self.bar.update(self.task, advance=1, loss=loss)
        # A file or a pipe gets four lines, however many epochs there are.
        if self.bar.disable and self.done * 4 // self.epochs > (self.done - 1) * 4 // self.epochs:
            self.console.print(f"epoch {self.done} of {self.epochs}, loss {loss:.4f}")


def judge(plan: Plan, parameters: Parameters, feeds: Feeds) -> list[Outcome]:
    """Returns what every runtime makes of the module of `plan`, held against the oracle."""
    oracle = plan.network.entry(plan.results).interpret(parameters, feeds)
    return [outcome(name, plan, parameters, feeds, oracle) for name in runtimes.names()]


def outcome(name: str, plan: Plan, parameters: Parameters, feeds: Feeds, oracle: Run) -> Outcome:
    """Returns what the runtime called `name` makes of the module of `plan`."""
    status = runtimes.load(name).status()
    if not status.ready:
        return Outcome(name, status.detail)
    ports = plan.signature()
    arguments = [parameters.of(port.symbol).numpy() for port in ports.parameters]
    arguments += [feeds[port.name or port.symbol] for port in ports.inputs]
    try:
        compiled = plan.compile(name)
        grade = graded(plan, name, compiled.forward(parameters, feeds), oracle)
        return Outcome(name, status.detail, grade, microseconds(compiled.executable, arguments))
    except ToposError as error:
        return Outcome(name, f"failed: {error}")


def microseconds(executable: runtimes.Executable, arguments: list[Array]) -> float:
    """Returns the median duration of a call."""
    durations: list[float] = []
    while sum(durations) < SECONDS and len(durations) < MOST_CALLS:
        start = time.perf_counter()
        executable(*arguments)
        durations.append(time.perf_counter() - start)
    return statistics.median(durations) * 1e6


def table(outcomes: list[Outcome], title: str) -> Table:
    """Returns the outcomes as a table, one runtime a row."""
    columns = Table(title=title)
    columns.add_column("runtime")
    columns.add_column("ready, or why not", overflow="fold")
    columns.add_column("bits or ULP", justify="right")
    columns.add_column("µs a call", justify="right")
    for each in outcomes:
        # Plain text: a name in brackets, as an extra has, is no markup here.
        columns.add_row(*map(Text, each.cells()))
    return columns


def others() -> str:
    """Returns one line on the runtimes that this installation lacks; none if it lacks none."""
    missing = {name: each.detail for name, each in runtimes.status().items() if not each.ready}
    if not missing:
        return ""
    ways = dict.fromkeys(detail.rpartition(": ")[2] for detail in missing.values())
    return f"{', '.join(missing)} would run the same module too: {', '.join(ways)}"


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
    if chosen.epochs < 1 or chosen.seed < 0:
        parser.error("--epochs needs one or more, --seed zero or more")
    if not 1 <= chosen.batch <= TRAINED_ON:
        parser.error(f"--batch needs 1 to {TRAINED_ON}, got {chosen.batch}")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Trains, tests, emits, and runs the module on every runtime; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    try:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"{chosen.out} cannot be written: {error}", file=sys.stderr)
        return 2
    random = np.random.default_rng(chosen.seed)
    samples, tests = load(random)
    classifier = record(chosen.batch, len(tests.pixels), random)
    parameters = train(classifier, samples, chosen, console)
    accuracy = classifier.accuracy(parameters, tests)
    console.print(f"test accuracy {accuracy:.1%} on {len(tests.pixels)} digits never trained on")

    plan = classifier.training()
    text = plan.emit_stablehlo()
    write(text, chosen.out)
    console.print(f"{chosen.out}: {len(plan.order)} nodes, {len(text.splitlines())} lines")
    feeds = next(samples.batches(chosen.batch, random))
    outcomes = judge(plan, parameters, feeds)
    console.print(table(outcomes, f"{chosen.out} on every runtime"))
    console.print(others(), markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
