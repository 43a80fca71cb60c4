"""Trains the classifier of `digits_cnn.py` and writes it as a bundle that `topos serve` serves.

`demo/digits` holds the model at several numbers of rows, its running statistics beside its
weights; `demo/digits.json` is the request of one digit that was not trained on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from artifacts import write
from digits_cnn import Array, Feeds, Samples, confusion, load, record, statistics_feeds, train
from digits_cnn_model import FILTERS, SIDE, Classifier
from terminal import Console, bounded, progress, unwritable

from topos import Parameters, Plan, Tape, cli, label, runtimes
from topos.errors import BundleError, UnavailableError

try:
    from topos.bundle import Bundle, export
except UnavailableError as error:
    print(error, file=sys.stderr)
    raise SystemExit(2) from None

# A request alone, and several at once: the server runs the smallest that fits.
ROWS: Final = (1, 8)
# The sample that every check runs is of real digits, which the status page draws, too.
SAMPLED: Final = 16


def inference(rows: int) -> Plan:
    """Returns the classifier of so many digits at once, named as its training names it."""
    tape = Tape()
    model = Classifier(tape, rows, seed=0)
    label(tape, model)
    images = tape.input(shape=[rows, 1, SIDE, SIDE], name="images")
    running = [
        (
            tape.input(shape=[filters], name=f"running mean {place}"),
            tape.input(shape=[filters], name=f"running variance {place}"),
        )
        for place, filters in enumerate(FILTERS)
    ]
    model.inference(tape, images, running).named("scores")
    return tape.into_network().entry(["scores"]).lower()


def exported(path: Path, state: Parameters, running: Feeds, tests: Samples) -> Bundle:
    """Writes the trained classifier as a bundle, which replaces one that stood at `path`."""
    return export(
        path,
        [inference(rows) for rows in ROWS],
        state,
        resident=running,
        samples=[{"images": tests.images[:SAMPLED]}],
        batched=True,
    )


def request(image: Array) -> bytes:
    """Returns the request for one digit, as the Open Inference Protocol has it in JSON."""
    tensor = {
        "name": "images",
        "shape": [1, 1, SIDE, SIDE],
        "datatype": "FP32",
        "data": image.ravel().tolist(),
    }
    return json.dumps({"inputs": [tensor]}).encode()


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Train a convolutional classifier on digits, export it as a bundle, serve it.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training digits")
    parser.add_argument("--seed", type=int, default=0, help="of split, weights, masks, batches")
    parser.add_argument("--rate", type=float, default=1e-2, help="the learning rate of the start")
    parser.add_argument(
        "--numerics", choices=["fast", "exact"], default="fast", help="what the training runs in"
    )
    parser.add_argument("--out", type=Path, default=Path("demo/digits"), help="the bundle")
    parser.add_argument("--serve", action="store_true", help="serve the bundle until Ctrl-C")
    parser.add_argument("--runtime", choices=runtimes.names(), default="xla", help="that serves")
    parser.add_argument("--port", type=int, default=8000, help="to serve at; 0 is any")
    limits = {"epochs": (1, 10_000), "seed": (0, 2**32 - 1), "port": (0, 65535)}
    return bounded(parser, None if arguments is None else list(arguments), limits)


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, tests, exports, and serves where told to; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    samples, tests = load(chosen.seed)
    asked = chosen.out.with_name(f"{chosen.out.name}.json")
    try:
        write(request(tests.images[0]), asked)
    except OSError as error:
        return unwritable(asked, error)
    recorded = record(chosen.seed, chosen.rate, chosen.epochs, len(tests.images))
    with progress(console, "epochs") as bar:
        state, statistics = train(recorded, samples, chosen, bar)
    running = statistics_feeds(statistics)
    feeds = {**running, "tests": tests.images}
    counts = confusion(recorded.network, state, feeds, tests.classes)
    share = float(np.trace(counts) / counts.sum())
    console.print(f"test accuracy {share:.1%}, on {len(tests.images)} digits not trained on")
    try:
        bundle = exported(chosen.out, state, running, tests)
    except OSError as error:
        return unwritable(chosen.out, error)
    except (BundleError, UnavailableError) as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, BundleError) else 2
    rows = ", ".join(str(program.rows) for program in bundle.programs)
    console.print(f"{chosen.out} is {bundle.name} {bundle.version}, for {rows} digits at once")
    console.print(f"{asked} asks for one digit, which is a {tests.classes[0]}")
    if not chosen.serve:
        return 0
    where = ["--runtime", chosen.runtime, "--port", str(chosen.port)]
    return cli.main(["serve", str(chosen.out), *where])


if __name__ == "__main__":
    raise SystemExit(main())
