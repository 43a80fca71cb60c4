"""Trains a digits classifier by its emitted step alone, beside the oracle's trajectory.

Loss, gradients and the optimizer's update are one recording, and its module takes parameters,
state and a batch to the next parameters, state and the loss. Each runtime is fed its own results;
no weight is touched in between. The table is the loss on the way.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos import Activation, Mlp, Plan, Symbol, Tape, cross_entropy, init, label, runtimes
from topos import parameters as parameters_of
from topos.neural import schedule
from topos.neural.clipping import Clipped
from topos.neural.optimizer import Optimizer
from topos.neural.adam import AdamW
from topos.neural.step import RecordedStep, record_step

BATCH: Final = 50
WIDTHS: Final = (64, 32, 10)
PEAK, LIMIT = 3e-3, 1.0
BOUND: Final = 1e-4
"""How far, relative to the oracle's, the final loss may be."""

Array = npt.NDArray[Any]
Feeds = dict[Symbol | str, Array]


class Training(NamedTuple):
    """One way to train: the loss of each step, and the final parameters and state as bytes."""

    name: str
    losses: list[float]
    final: bytes
    seconds: float


def recorded(optimizer: Optimizer) -> tuple[Plan, Plan, RecordedStep]:
    """Records a step; returns its plan under both numerics, exact first."""
    tape = Tape()
    model = Mlp(tape, WIDTHS, weights=init.xavier(1), activation=Activation.TANH)
    label(tape, model)
    pixels = tape.input(shape=[BATCH, WIDTHS[0]], name="pixels")
    classes = tape.input(np.zeros(BATCH, np.int64), name="classes")
    loss = cross_entropy(model.express(tape, pixels), classes).named("loss")
    step = record_step(tape, loss, parameters_of(model), optimizer)
    network = tape.into_network()
    exact, fast = (
        network.entry(step.roots(), numerics=each).lower() for each in ("exact", "fast")
    )
    return exact, fast, step


def batches(steps: int, seed: int) -> Iterator[Feeds]:
    """Yields the batches of `steps` steps: whole passes, each in an order of its own."""
    from sklearn.datasets import load_digits

    digits, random = load_digits(), np.random.default_rng(seed)
    pixels, classes = (digits.data / 16).astype(np.float32), digits.target.astype(np.int64)
    for _ in range(steps):
        chosen = random.permutation(len(pixels))[:BATCH]
        yield {"pixels": pixels[chosen], "classes": classes[chosen]}


def trained(
    name: str, plan: Plan, step: RecordedStep, call: Callable[..., Any], feeds: list[Feeds]
) -> Training:
    """Returns the training in which `call` answers the results of `plan` for its arguments."""
    signature = plan.signature()
    moves = step.donations(signature)
    inputs = {port.name: place for place, port in enumerate(signature.arguments)}
    arguments = plan.arguments(None, feeds[0])
    losses, start = [], time.perf_counter()
    for batch in feeds:
        for title, array in batch.items():
            arguments[inputs[str(title)]] = array
        results = call(*arguments)
        losses.append(float(results[-1]))
        for place, result in moves.items():
            arguments[place] = results[result]
    seconds = time.perf_counter() - start
    return Training(name, losses, b"".join(arguments[place].tobytes() for place in moves), seconds)
