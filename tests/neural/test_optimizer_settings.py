"""Settings of optimizers that cannot train are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.exact import exactly
from topos.errors import ArgumentError
from topos.neural import schedule
from topos.neural.clipping import Clipped, global_norm
from topos.neural.rules import Adam, AdamW, Lion, Sgd

MISTAKES: list[tuple[str, Callable[[], Any]]] = [
    ("Sgd needs a finite rate of zero or more, got -0.1", lambda: Sgd(-0.1)),
    ("Sgd needs a momentum from 0 to below 1, got 1.0", lambda: Sgd(0.1, momentum=1.0)),
    ("Sgd needs a momentum for Nesterov's, got 0", lambda: Sgd(0.1, nesterov=True)),
    (
        "Adam needs two betas from 0 to below 1, as (0.9, 0.999), got (0.9, 1.0)",
        lambda: Adam(betas=(0.9, 1.0)),
    ),
    ("Adam needs a finite epsilon of zero or more, got nan", lambda: Adam(epsilon=float("nan"))),
    (
        "Adam needs two betas from 0 to below 1, as (0.9, 0.999), got 0.9",
        lambda: Adam(1e-3, 0.9),  # type: ignore[arg-type]
    ),
    (
        "AdamW needs a finite weight decay of zero or more, got '1'",
        lambda: AdamW(weight_decay="1"),  # type: ignore[arg-type]
    ),
    (
        "AdamW needs a policy such as topos.matrices, got bool",
        lambda: AdamW(policy=True),  # type: ignore[arg-type]
    ),
    (
        "Sgd needs a momentum from 0 to below 1, got None",
        lambda: Sgd(0.1, None),  # type: ignore[arg-type]
    ),
    ("Adam needs a finite rate of zero or more, got inf", lambda: Adam(float("inf"))),
    (
        "AdamW needs a finite weight decay of zero or more, got -1.0",
        lambda: AdamW(weight_decay=-1.0),
    ),
    (
        "Lion needs two betas from 0 to below 1, as (0.9, 0.999), got (-0.5, 0.9)",
        lambda: Lion(betas=(-0.5, 0.9)),
    ),
    ("Clipped needs a limit above zero, finite, got 0.0", lambda: Clipped(Adam(), 0.0)),
    ("a global norm needs one value or more, got none", lambda: global_norm([])),
    ("cosine needs 1 to 16777216 steps, got 0", lambda: schedule.cosine(0.1, 0)),
]


@pytest.mark.parametrize(("message", "action"), MISTAKES, ids=[each[0][:48] for each in MISTAKES])
def test_a_setting_that_cannot_train_is_told(message: str, action: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match=exactly(message)):
        action()
