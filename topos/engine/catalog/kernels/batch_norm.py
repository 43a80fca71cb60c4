"""Batch normalization at home: each pass over the batch in place, the scale divided once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from topos.backend.fused import Normalization
from topos.engine.catalog.batch_norm import BatchNorm
from topos.engine.choices import Choices
from topos.op import Array
from topos.payload import TensorType


def home_training(
    form: BatchNorm, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Any] | None:
    """Returns the kernel of the normalization by the batch's own mean and biased variance."""
    return None if choices.exact else Normalization(*form)


def home_inference(
    form: BatchNorm, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array] | None:
    """Returns the kernel of the normalization by given statistics."""
    return None if choices.exact else Normalization(*form).by
