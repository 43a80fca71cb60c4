"""Trains a convolutional classifier on handwritten digits and draws its confusion matrix.

Batch statistics and dropout make training another program than inference: training is one recorded
step, fed with masks; inference is `demo/digits_cnn.mlir`, fed with running statistics.
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
from digits_cnn_model import CLASSES, FILTERS, SIDE, Classifier
from everywhere import Forward, others, rows, trial
from terminal import Console, Progress, bounded, progress, runtimes_table, unwritable

from topos import (
    AdamW,
    Network,
    Parameters,
    RecordedStep,
    Run,
    RunningStatistics,
    Symbol,
    Tape,
    cross_entropy,
    label,
    matrices,
    parameters,
    record_step,
    schedule,
)

try:
    from sklearn.datasets import load_digits
except ImportError:
    needs = "the digits need scikit-learn: pip install 'topos-compiler[examples]'"
    print(needs, file=sys.stderr)
    raise SystemExit(2) from None

TRAINED_ON, BATCH = 1500, 50
STEPS_AN_EPOCH: Final = TRAINED_ON // BATCH
# How many digits the emitted module takes at once.
SERVED: Final = 10
# What of the running statistics is the past's.
DECAY: Final = 0.9
CAPTION: Final = (
    "Ten digits, one score for each class: how far any is from the oracle's, beside the largest of"
    " them, and how many digits the runtime names right."
)

Array = npt.NDArray[Any]
Feeds = dict[Symbol | str, Any]
Statistics = tuple[RunningStatistics, ...]


class Samples(NamedTuple):
    """Images between 0 and 1, `[samples, 1, 8, 8]`, and their classes, `[samples]`."""

    images: Array
    classes: Array

    def batches(self, random: np.random.Generator) -> Iterator[Feeds]:
        """Yields the samples in random order, a batch at a time."""
        for chosen in random.permutation(len(self.images)).reshape(-1, BATCH):
            yield {"images": self.images[chosen], "classes": self.classes[chosen]}


class Recorded(NamedTuple):
    """The network, the model whose symbols it knows, and the recorded step."""

    network: Network
    model: Classifier
    step: RecordedStep

    def following(self, run: Run, before: Statistics) -> Statistics:
        """Returns the running statistics after the batch of `run`."""
        return tuple(
            each.updated(run.of(f"mean {place}"), run.of(f"variance {place}"), DECAY)
            for place, each in enumerate(before)
        )


def load(seed: int) -> tuple[Samples, Samples]:
    """Returns 1,500 samples to train on and the other 297 to test with."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.data))
    images = (digits.images[order] / 16).astype(np.float32)[:, None]
    classes = digits.target[order].astype(np.int64)
    first, last = slice(TRAINED_ON), slice(TRAINED_ON, None)
    return Samples(images[first], classes[first]), Samples(images[last], classes[last])


def record(seed: int, rate: float, epochs: int, tests: int) -> Recorded:
    """Records a training step, and inference for the tests and for what is served."""
    tape = Tape()
    model = Classifier(tape, BATCH, seed)
    label(tape, model)
    images = tape.input(shape=[BATCH, 1, SIDE, SIDE], name="images")
    classes = tape.input(np.zeros(BATCH, np.int64), name="classes")
    scores, statistics = model.express(tape, images)
    for place, (mean, variance) in enumerate(statistics):
        mean.named(f"mean {place}")
        variance.named(f"variance {place}")
    loss = cross_entropy(scores, classes).named("loss")
    every = max(epochs // 3, 1) * STEPS_AN_EPOCH
    optimizer = AdamW(schedule.staircase(rate, every, factor=0.3), policy=matrices)
    step = record_step(tape, loss, parameters(model), optimizer)
    running = [
        (
            tape.input(shape=[filters], name=f"running mean {place}"),
            tape.input(shape=[filters], name=f"running variance {place}"),
        )
        for place, filters in enumerate(FILTERS)
    ]
    for name, count in (("tests", tests), ("digits", SERVED)):
        own = tape.input(shape=[count, 1, SIDE, SIDE], name=name)
        model.inference(tape, own, running).named(f"scores of {name}")
    return Recorded(tape.into_network(), model, step)


def statistics_feeds(statistics: Statistics) -> Feeds:
    """Returns what inference is fed besides images."""
    feeds: Feeds = {}
    for place, each in enumerate(statistics):
        feeds |= {f"running mean {place}": each.mean, f"running variance {place}": each.variance}
    return feeds


def train(
    recorded: Recorded, samples: Samples, chosen: argparse.Namespace, bar: Progress
) -> tuple[Parameters, Statistics]:
    """Returns the parameters, the optimizer's state among them, and the running statistics."""
    network, model, step = recorded
    names = [f"{kind} {place}" for place in range(2) for kind in ("mean", "variance")]
    entry = network.entry(step.roots(), observe=names, numerics=chosen.numerics)
    plan, random, state = entry.lower(), np.random.default_rng(chosen.seed), network.parameters()
    statistics = tuple(RunningStatistics.initial(filters) for filters in FILTERS)
    task, seed = bar.add_task("training", total=chosen.epochs, loss=float("nan")), chosen.seed << 32
    for _ in range(chosen.epochs):
        losses = []
        for feeds in samples.batches(random):
            # Every step has a mask of its own; the seed of the first is that of the example.
            run = plan.forward(state, {**feeds, model.dropout.mask: model.dropout.draw(seed)})
            state, seed = step.advanced(state, run), seed + 1
            statistics = recorded.following(run, statistics)
            losses.append(run.of("loss").item())
        bar.update(task, advance=1, loss=float(np.mean(losses)))
    return state, statistics


def confusion(network: Network, state: Parameters, feeds: Feeds, classes: Array) -> Array:
    """Returns how many tests of each class, a row, are taken for each class, a column."""
    run = network.entry(["scores of tests"]).lower().forward(state, feeds)
    counts = np.zeros((CLASSES, CLASSES), np.int64)
    np.add.at(counts, (classes, run.of("scores of tests").numpy().argmax(1)), 1)
    return counts


def drawn(counts: Array, share: float) -> Any:
    """Returns the picture of the counts."""
    picture = figure(5.6, 5.0)
    axes = picture.subplots()
    shown = axes.imshow(counts, cmap="Blues")
    for (row, column), count in np.ndenumerate(counts):
        color = "white" if count > counts.max() / 2 else "black"
        axes.text(column, row, str(count) if count else "", ha="center", va="center", color=color)
    axes.set(xticks=range(CLASSES), yticks=range(CLASSES), xlabel="taken for", ylabel="digit")
    axes.set_title(f"{share:.1%} of {counts.sum()} digits not trained on")
    picture.colorbar(shown, ax=axes)
    return picture


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Train a convolutional classifier on digits, run its inference everywhere.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training digits")
    parser.add_argument("--seed", type=int, default=0, help="of split, weights, masks, batches")
    parser.add_argument("--rate", type=float, default=1e-2, help="the learning rate of the start")
    parser.add_argument(
        "--numerics", choices=["fast", "exact"], default="fast", help="what the training runs in"
    )
    parser.add_argument("--out", type=Path, default=Path("demo/digits_cnn"), help="files, bare")
    return bounded(parser, arguments, {"epochs": (1, 10_000), "seed": (0, 2**32 - 1)})


def main(arguments: list[str] | None = None) -> int:
    """Trains, tests, draws, and serves ten digits by every runtime; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    samples, tests = load(chosen.seed)
    recorded = record(chosen.seed, chosen.rate, chosen.epochs, len(tests.images))
    plan = recorded.network.entry(["scores of digits"]).lower()
    module, picture = (chosen.out.with_suffix(suffix) for suffix in (".mlir", ".png"))
    try:
        write(plan.emit_stablehlo().encode(), module)
    except OSError as error:
        return unwritable(module, error)
    with progress(console, "epochs") as bar:
        state, statistics = train(recorded, samples, chosen, bar)
    running = statistics_feeds(statistics)
    feeds = {**running, "tests": tests.images}
    counts = confusion(recorded.network, state, feeds, tests.classes)
    share = float(np.trace(counts) / counts.sum())
    console.print(f"test accuracy {share:.1%}, on {len(tests.images)} digits not trained on")
    write_figure(drawn(counts, share), picture)
    console.print(f"{picture} is the confusion matrix, {module} serves {SERVED} digits")

    digits = {**running, "digits": tests.images[:SERVED]}

    def use(forward: Forward) -> str:
        guesses = forward(state, digits).of("scores of digits").numpy().argmax(1)
        return f"{np.sum(guesses == tests.classes[:SERVED])} of {SERVED}"

    cells = rows([trial(plan, state, digits, use)])
    headings = "scores", "ms", "right"
    console.print(runtimes_table(cells, headings, "inference on every runtime", CAPTION))
    console.print(others(), markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
