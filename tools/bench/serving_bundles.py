"""The bundles that are served while a server is measured or worn out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

# The classifier is the example's own, which a user would serve.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from digits_cnn_model import FILTERS, SIDE, Classifier

from topos import Plan, Tape, Value, label
from topos.bundle import Bundle, export

__all__ = ["WIDE", "digits", "layers", "pair"]

Array = npt.NDArray[Any]

DIGIT_ROWS: Final = (1, 8, 32, 64)
LAYER_ROWS: Final = (1, 4, 16)
PAIR_ROWS: Final = (2, 16)
WIDE: Final = (768, 2560, 3840, 2560, 320)
"""The widths of a perceptron whose weights take 90 MB."""
PAIR_WIDTH: Final = 16
Given = TypeVar("Given")


def digits(folder: Path, seed: int = 0) -> Bundle:
    """Returns the classifier of digits, `images` [rows, 1, 8, 8] to `scores` [rows, 10].

    Its running statistics are resident, and drawn as its weights are; bundles of all seeds hold
    a sample of the same inputs.
    """
    random = np.random.default_rng(seed)
    statistics: dict[str, Array] = {}
    for place, filters in enumerate(FILTERS):
        mean, variance = random.normal(0.0, 0.1, filters), random.uniform(0.5, 1.5, filters)
        statistics[f"mean {place}"] = mean.astype(np.float32)
        statistics[f"variance {place}"] = variance.astype(np.float32)
    plans = [_classifying(rows, seed) for rows in DIGIT_ROWS]
    return export(folder, plans, resident=statistics, batched=True, name="digits")


def layers(folder: Path, widths: Sequence[int], name: str) -> Bundle:
    """Returns a perceptron without biases, `features` to `scores`, of those widths."""
    return export(folder, _by_rows(LAYER_ROWS, _perceptron, widths), batched=True, name=name)


def pair(folder: Path, seed: int = 0) -> Bundle:
    """Returns a model of two inputs and two results, none of whose programs has a single row.

    Bundles of all seeds hold a sample of the same inputs.
    """
    plans = _by_rows(PAIR_ROWS, _twofold, seed)
    return export(folder, plans, batched=True, name="pair")


def _by_rows(
    rows: Sequence[int], record: Callable[[Tape, int, Given], list[str]], given: Given
) -> list[Plan]:
    """Returns one plan for each number of rows, of everything that `record` names a result."""
    plans = []
    for count in rows:
        tape = Tape()
        names = record(tape, count, given)
        plans.append(tape.into_network().entry(names).lower())
    return plans


def _classifying(rows: int, seed: int) -> Plan:
    tape = Tape()
    model = Classifier(tape, rows, seed)
    label(tape, model)
    images = tape.input(shape=[rows, 1, SIDE, SIDE], name="images")
    running = [
        (
            tape.input(shape=[filters], name=f"mean {place}"),
            tape.input(shape=[filters], name=f"variance {place}"),
        )
        for place, filters in enumerate(FILTERS)
    ]
    model.inference(tape, images, running).named("scores")
    return tape.into_network().entry(["scores"]).lower()


def _perceptron(tape: Tape, rows: int, widths: Sequence[int]) -> list[str]:
    value = tape.input(shape=[rows, widths[0]], name="features")
    for place, weight in enumerate(_weights(tape, widths, seed=0)):
        value = (value @ weight).tanh() if place < len(widths) - 2 else value @ weight
    value.named("scores")
    return ["scores"]


def _twofold(tape: Tape, rows: int, seed: int) -> list[str]:
    left = tape.input(shape=[rows, PAIR_WIDTH], name="left")
    right = tape.input(shape=[rows, PAIR_WIDTH], name="right")
    mixed = (left @ _weights(tape, (PAIR_WIDTH, PAIR_WIDTH), seed)[0]).tanh()
    (mixed * right).named("product")
    (mixed - right).named("difference")
    return ["product", "difference"]


def _weights(tape: Tape, widths: Sequence[int], seed: int) -> list[Value]:
    random = np.random.default_rng(seed)
    return [
        tape.parameter(_drawn(random, inputs, outputs), name=f"weight {place}")
        for place, (inputs, outputs) in enumerate(pairwise(widths))
    ]


def _drawn(random: np.random.Generator, inputs: int, outputs: int) -> Array:
    """Returns weights that keep the variance of their inputs (LeCun et al., 1998)."""
    drawn = random.standard_normal((inputs, outputs), dtype=np.float32)
    return np.asarray(drawn / np.float32(np.sqrt(inputs)))
