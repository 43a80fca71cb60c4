"""A small regression that the tests of optimizers, recorded steps and checkpoints train."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos import Element, Field, Network, Parameters, Tape, Tensor, broadcast_to, f32, mean
from topos.neural.optimizer import Optimizer, OptimizerState

__all__ = ["BATCH", "WEIGHTS", "batches", "changed", "regression", "same_fields", "trained"]

Array = npt.NDArray[Any]

BATCH: Final = 16
WEIGHTS: Final = ("first", "bias", "second")


def regression(element: Element = f32, hidden: int = 8) -> Network:
    """Returns a two-layer regression of four features, its weights drawn, its loss named."""
    random = np.random.default_rng(7)
    tape = Tape(element=element)
    shapes = ((4, hidden), (hidden,), (hidden, 1))
    first, bias, second = (
        tape.parameter((random.standard_normal(shape) * 0.5).astype(element.dtype), name=name)
        for name, shape in zip(WEIGHTS, shapes, strict=True)
    )
    x, y = tape.input(shape=(BATCH, 4), name="x"), tape.input(shape=(BATCH, 1), name="y")
    error = (x @ first + broadcast_to(bias, (BATCH, hidden))).tanh() @ second - y
    mean(error * error).named("loss")
    return tape.into_network()


def batches(steps: int, element: Element = f32) -> list[dict[str, Array]]:
    """Returns feeds for each of `steps`: features, and the sine of their sum."""
    random = np.random.default_rng(11)
    features = [random.standard_normal((BATCH, 4)) for _ in range(steps)]
    return [
        {
            "x": each.astype(element.dtype),
            "y": np.sin(each.sum(1, keepdims=True)).astype(element.dtype),
        }
        for each in features
    ]


def trained(
    network: Network, optimizer: Optimizer, feeds: list[dict[str, Array]]
) -> tuple[Parameters, OptimizerState, list[Tensor]]:
    """Returns what the oracle trains on the host: parameters, state, and each step's loss."""
    parameters = network.parameters()
    state, losses = optimizer.start(parameters), []
    for batch in feeds:
        run = network.forward(parameters, batch)
        losses.append(run.of("loss"))
        parameters, state = optimizer.step(parameters, run.backward("loss"), state)
    return parameters, state, losses


def changed(parameters: Parameters) -> Parameters:
    """Returns other payloads of the same types."""
    return parameters.map(lambda own: own + 1)


def same_fields(left: Field, right: Field) -> bool:
    """Returns whether two tables have the same symbols, types and bytes."""
    pairs = list(zip(left.items(), right.items(), strict=True))
    return all(
        a == b and own.type == other.type and own.numpy().tobytes() == other.numpy().tobytes()
        for (a, own), (b, other) in pairs
    )
