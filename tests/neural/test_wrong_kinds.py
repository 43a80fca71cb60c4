"""Whatever stands in the place of an argument of the models' surface, only errors of topos come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from topos import (
    Activation,
    Adam,
    AdamW,
    Clipped,
    Conv2d,
    Dropout,
    Embedding,
    LayerNorm,
    Linear,
    Lion,
    Mlp,
    MultiHeadAttention,
    Parameters,
    RmsNorm,
    Sequential,
    Sgd,
    Tape,
    Tensor,
    clip_by_global_norm,
    cross_entropy,
    init,
    label,
    mse,
    named_parameters,
    record_step,
    schedule,
)
from topos.errors import ToposError
from topos.neural.matching import matched, named

WRONG: tuple[Any, ...] = (
    *(Adam, Activation, Linear, init.xavier, object(), None, 0.5, 7, float("nan"), 1e300),
    *("x", b"x", [1, 2], {}, np.ones(2, np.float32), Tensor([1.0])),
)
XAVIER = init.xavier(1)


class Recording:
    """A tape with a layer, its loss and the values that formulas take."""

    def __init__(self) -> None:
        self.tape = Tape()
        self.layer = Linear(self.tape, 3, 2, weights=XAVIER)
        self.rows = self.tape.input(shape=(4, 3))
        self.loss = self.layer.express(self.tape, self.rows).sum()


Attempt = Callable[[Recording, Any], Any]
ATTEMPTS: dict[str, Attempt] = {
    "Adam(rate)": lambda r, x: Adam(x),
    "Adam(betas)": lambda r, x: Adam(1e-3, x),
    "Adam(beta)": lambda r, x: Adam(1e-3, (0.9, x)),
    "Adam(epsilon)": lambda r, x: Adam(1e-3, (0.9, 0.99), x),
    "AdamW(decay)": lambda r, x: AdamW(weight_decay=x),
    "AdamW(policy)": lambda r, x: AdamW(policy=x),
    "Lion(betas)": lambda r, x: Lion(1e-4, x),
    "Sgd(momentum)": lambda r, x: Sgd(0.1, x),
    "Sgd(nesterov)": lambda r, x: Sgd(0.1, 0.9, x),
    "Clipped(optimizer)": lambda r, x: Clipped(x, 1.0),
    "Clipped(limit)": lambda r, x: Clipped(Adam(), x),
    "clip(gradients)": lambda r, x: clip_by_global_norm(x, 1.0),
    "cosine(peak)": lambda r, x: schedule.cosine(x, 3),
    "staircase(factor)": lambda r, x: schedule.staircase(0.1, 3, factor=x),
    "warm_up(steps)": lambda r, x: schedule.warm_up(x, 0.1),
    "warm_up(then)": lambda r, x: schedule.warm_up(3, x),
    "record_step(loss)": lambda r, x: record_step(r.tape, x, [r.layer.weights], Adam()),
    "record_step(parameters)": lambda r, x: record_step(r.tape, r.loss, x, Adam()),
    "record_step(optimizer)": lambda r, x: record_step(r.tape, r.loss, [r.layer.weights], x),
    "start": lambda r, x: Adam().start(x),
    "Linear(weights)": lambda r, x: Linear(r.tape, 3, 2, weights=x),
    "Linear(bias)": lambda r, x: Linear(r.tape, 3, 2, weights=XAVIER, bias=x),
    "Linear(value)": lambda r, x: r.layer.express(r.tape, x),
    "Conv2d(weights)": lambda r, x: Conv2d(r.tape, 3, 2, 3, weights=x),
    "Embedding(table)": lambda r, x: Embedding(r.tape, 3, 2, table=x),
    "LayerNorm(scale)": lambda r, x: LayerNorm(r.tape, 3, scale=x),
    "RmsNorm(value)": lambda r, x: RmsNorm(r.tape, 3).express(r.tape, x),
    "Mlp(widths)": lambda r, x: Mlp(r.tape, x, weights=XAVIER),
    "Mlp(weights)": lambda r, x: Mlp(r.tape, (3, 2), weights=x),
    "Mlp(activation)": lambda r, x: Mlp(r.tape, (3, 2), weights=XAVIER, activation=x),
    "MultiHeadAttention(weights)": lambda r, x: MultiHeadAttention(r.tape, 4, 2, weights=x),
    "Dropout(rate)": lambda r, x: Dropout(r.tape, (4, 3), x),
    "Dropout(value)": lambda r, x: Dropout(r.tape, (4, 3)).express(r.tape, x),
    "Sequential": lambda r, x: Sequential(x),
    "Activation": lambda r, x: Activation.TANH(x),
    "label": lambda r, x: label(r.tape, x),
    "named_parameters": lambda r, x: named_parameters(x),
    "names of a checkpoint": lambda r, x: named(x),
    "rename of a checkpoint": lambda r, x: matched(["w"], {}, lambda _: x, stateful=False),
    "mse(targets)": lambda r, x: mse(r.rows, x),
    "cross_entropy(targets)": lambda r, x: cross_entropy(r.rows, x),
    "init.constant": lambda r, x: init.constant(x)((2,)),
    "init.normal": lambda r, x: init.normal(1, x),
    "element": lambda r, x: Tensor([1.0], x),
    "feeds": lambda r, x: r.tape.into_network().forward(None, x),
    "payloads": lambda r, x: r.tape.into_network().parameters(x),
    "roots": lambda r, x: r.tape.into_network().entry(x),
    "wrt": lambda r, x: r.tape.differentiate(r.loss, x),
    "with_payloads": lambda r, x: parameters(r).with_payloads(x),
    "step": lambda r, x: parameters(r).step(x, lambda own, gradient: own),
}


def parameters(recording: Recording) -> Parameters:
    return recording.tape.into_network().parameters()


@pytest.mark.parametrize("title", ATTEMPTS)
def test_only_errors_of_topos_come(title: str) -> None:
    refused = 0
    for wrong in WRONG:
        try:
            ATTEMPTS[title](Recording(), wrong)
        except ToposError:
            refused += 1
    # Some of them are right somewhere: a number for a rate, none for an element or a bias.
    assert refused >= 5
