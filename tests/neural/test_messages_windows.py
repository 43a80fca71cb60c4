"""Mistakes with windows and normalizations: class, whole message, and the user's own line."""

from __future__ import annotations

import pytest

from tests.neural.mistakes import Mistake, demand_told, named
from tests.project.bad_input import Bad
from topos import Tensor, errors, init
from topos.neural import (
    BatchNorm,
    Conv2d,
    Flatten,
    LayerNorm,
    MaxPool,
    RmsNorm,
    RunningStatistics,
    Sequential,
    average_pool,
    conv2d,
    layer_norm,
    max_pool,
)

XAVIER = init.xavier(1)

MESSAGES: list[Mistake] = [
    (
        errors.ShapeError,
        "conv2d needs [batch, channels, height, width], got (4, 3)",
        lambda r: conv2d(r.rows, r.images),
    ),
    (
        errors.ShapeError,
        "conv2d needs an axis 1 of 2, got (2, 3, 6, 6)",
        lambda r: Conv2d(r.tape, 2, 4, 3, weights=XAVIER).express(r.tape, r.images),
    ),
    (
        errors.ShapeError,
        "conv2d needs windows of at most (6, 6), got (7, 1)",
        lambda r: Conv2d(r.tape, 3, 4, (7, 1), weights=XAVIER).express(r.tape, r.images),
    ),
    (
        errors.ShapeError,
        "Conv2d needs a stride of one number or two, got (1, 2, 3)",
        lambda r: Conv2d(r.tape, 3, 4, 3, weights=XAVIER, stride=(1, 2, 3)),
    ),
    (
        errors.ShapeError,
        "Conv2d needs padding of 0 or more, got -1",
        lambda r: Conv2d(r.tape, 3, 4, 3, weights=XAVIER, padding=-1),
    ),
    (
        errors.ShapeError,
        "max_pool needs windows of at most (6, 6), got (7, 7)",
        lambda r: max_pool(r.images, 7),
    ),
    (
        errors.ShapeError,
        "average_pool needs [batch, channels, height, width], got (4, 3)",
        lambda r: average_pool(r.rows, 1),
    ),
    (errors.ShapeError, "MaxPool needs a size of 1 or more, got 0", lambda _: MaxPool(0)),
    (
        errors.ShapeError,
        "Flatten needs [batch, ...], got ()",
        lambda r: Flatten().express(r.tape, r.none),
    ),
    (
        errors.ShapeError,
        "layer_norm needs a last axis of 5, got (4, 3)",
        lambda r: LayerNorm(r.tape, 5).express(r.tape, r.rows),
    ),
    (
        errors.ShapeError,
        "layer_norm needs a number for each feature, got ()",
        lambda r: layer_norm(r.rows, r.none, r.none),
    ),
    (
        errors.ArgumentError,
        "RmsNorm needs an epsilon above zero, finite, got 0.0",
        lambda r: RmsNorm(r.tape, 3, epsilon=0.0),
    ),
    (
        errors.ShapeError,
        "batch_norm needs an axis 1 of 5, got (4, 3)",
        lambda r: BatchNorm(r.tape, 5).express(r.tape, r.rows),
    ),
    (
        errors.ShapeError,
        "batch_norm needs [batch, features, ...], got (5,)",
        lambda r: BatchNorm(r.tape, 5).express(r.tape, r.bias),
    ),
    (
        errors.ShapeError,
        "batch_norm_inference needs a number for each feature, got ()",
        lambda r: BatchNorm(r.tape, 3).inference(r.tape, r.rows, r.none, r.none),
    ),
    (
        errors.ArgumentError,
        "updated needs a decay of 0.0 to 1.0, got 1.5",
        lambda _: RunningStatistics.initial(1).updated(Tensor([0.0]), Tensor([0.0]), 1.5),
    ),
    (
        errors.ArgumentError,
        "Sequential needs stages that return one value, BatchNorm at 0 returned Normalization",
        lambda r: Sequential(BatchNorm(r.tape, 3)).express(r.tape, r.rows),
    ),
]


@pytest.mark.parametrize("bad", named(MESSAGES), ids=lambda bad: bad.name)
def test_a_mistake_is_told_at_the_users_line(bad: Bad) -> None:
    demand_told(bad, __name__)
