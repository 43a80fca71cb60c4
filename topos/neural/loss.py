"""Losses: rank-0 means over samples."""

from __future__ import annotations

import math

from topos import Recordable, absolute, i32, i64, mean, relu
from topos.errors import ElementError, ShapeError
from topos.neural.formula import R, demand_floating, demand_reading, in_element, wide


def cross_entropy(logits: R, targets: R) -> R:
    """Returns the mean over samples of minus the log-likelihood of the targets.

    `logits` are `[..., classes]`. `targets` are integer labels `[...]`, or shares of each class
    `[..., classes]` in the element of the logits. A share of zero adds zero, even where the logit
    is minus infinity; a label that is no class adds zero too, and still counts as a sample.
    The mean is taken in the wide element, and rounded once.
    """
    demand_floating("cross_entropy", logits)
    if not logits.shape or 0 in logits.shape:
        raise ShapeError(f"cross_entropy needs [..., classes], none empty, got {logits.shape}")
    likelihoods = in_element(logits, wide(logits.element)).log_softmax(-1)
    demand_reading("cross_entropy", targets)
    if targets.element in (i32, i64):
        taken = _labelled(likelihoods, targets)
    else:
        _demand_alike("cross_entropy", logits, targets)
        # A product of zero and minus infinity would be no number, in the value and the gradient.
        shares = in_element(targets, likelihoods.element)
        taken = shares * shares.equal(0.0).select(0.0, likelihoods)
    loss = -taken.sum() / float(math.prod(logits.shape[:-1]))
    return in_element(loss, logits.element)


def _labelled(likelihoods: R, labels: R) -> R:
    """Returns the log-likelihoods of the labelled classes, zero for every other class."""
    *samples, classes = likelihoods.shape
    if labels.shape != tuple(samples):
        raise ShapeError(
            f"cross_entropy needs labels {tuple(samples)} beside logits {likelihoods.shape},"
            f" got {labels.shape}"
        )
    every = likelihoods.iota((classes,)).broadcast_along(range(len(samples)), samples)
    chosen = labels.convert(i64).broadcast_along((len(samples),), (classes,))
    return every.equal(chosen).select(likelihoods, 0.0)


def mse(predictions: R, targets: R) -> R:
    """Returns the mean of the squared differences of two values of one shape.

    It is taken in the wide element, and rounded once.
    """
    _demand_alike("mse", predictions, targets)
    element = wide(predictions.element)
    difference = in_element(predictions, element) - in_element(targets, element)
    return in_element(mean(difference * difference), predictions.element)


def bce_with_logits(logits: R, targets: R) -> R:
    """Returns the mean binary cross-entropy of `logistic(logits)`, for targets in [0, 1].

    It is `max(x, 0) - x t + log1p(exp(-|x|))`, which no logit overflows; both have one shape.
    """
    _demand_alike("bce_with_logits", logits, targets)
    softened = (-absolute(logits)).exp().log1p()
    return mean(relu(logits) - logits * targets + softened)


def _demand_alike(name: str, values: Recordable, targets: Recordable) -> None:
    demand_floating(name, values)
    demand_reading(name, targets)
    if targets.element is not values.element:
        raise ElementError(f"{name} needs targets in {values.element}, got {targets.element}")
    if targets.shape != values.shape:
        raise ShapeError(f"{name} needs targets {values.shape}, got {targets.shape}")
