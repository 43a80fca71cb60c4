"""Batch normalization at home: each pass over the batch in place, the scale divided once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.engine.catalog.batch_norm import BatchNorm
from topos.engine.numerics import Numerics
from topos.payload import TensorType

__all__ = ["home_inference", "home_training"]

Array = npt.NDArray[Any]


def home_training(
    form: BatchNorm, types: Sequence[TensorType], numerics: Numerics
) -> Callable[..., Any] | None:
    """Returns the kernel of the normalization by the batch's own mean and biased variance."""
    if numerics is Numerics.EXACT:
        return None
    shape = types[0].shape
    return _Training(form, math.prod(shape) // max(1, shape[form.feature]))


def home_inference(
    form: BatchNorm, types: Sequence[TensorType], numerics: Numerics
) -> Callable[..., Array] | None:
    """Returns the kernel of the normalization by given statistics."""
    return None if numerics is Numerics.EXACT else _Inference(form)


@dataclass(frozen=True, slots=True)
class _Training:
    """The kernel over `count` elements a feature."""

    form: BatchNorm
    count: int

    def __call__(
        self, value: Array, scale: Array, shift: Array, *, out: Array | None = None
    ) -> tuple[Array, Array, Array]:
        axes = tuple(axis for axis in range(value.ndim) if axis != self.form.feature)
        count = value.dtype.type(self.count)
        mean = np.add.reduce(value, axis=axes) / count
        result = np.subtract(value, _wide(mean, self.form, value.ndim), out=out)
        variance = np.add.reduce(np.multiply(result, result), axis=axes) / count
        return _affine(result, variance, scale, shift, self.form), mean, variance


@dataclass(frozen=True, slots=True)
class _Inference:
    """The kernel for one form."""

    form: BatchNorm

    def __call__(
        self,
        value: Array,
        scale: Array,
        shift: Array,
        mean: Array,
        variance: Array,
        *,
        out: Array | None = None,
    ) -> Array:
        result = np.subtract(value, _wide(mean, self.form, value.ndim), out=out)
        return _affine(result, variance, scale, shift, self.form)


def _affine(centred: Array, variance: Array, scale: Array, shift: Array, form: BatchNorm) -> Array:
    """Returns `centred` scaled and shifted, in place."""
    epsilon = centred.dtype.type(form.epsilon)
    factor = scale / np.sqrt(variance + epsilon)
    np.multiply(centred, _wide(factor, form, centred.ndim), out=centred)
    np.add(centred, _wide(shift, form, centred.ndim), out=centred)
    return centred


def _wide(feature: Array, form: BatchNorm, rank: int) -> Array:
    """Returns a number for each feature in a shape that broadcasts."""
    return feature.reshape(tuple(-1 if axis == form.feature else 1 for axis in range(rank)))
