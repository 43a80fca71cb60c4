"""Losses at their edges: zero targets, labels that are no class, logits that overflow."""

from __future__ import annotations

import math

import numpy as np

from tests.exact import holds, same
from topos import Tape, Tensor, f32, f64, i32, i64
from topos.neural import bce_with_logits, cross_entropy, mse

MINUS = -math.inf


def test_a_zero_target_adds_nothing_where_the_logit_is_minus_infinity() -> None:
    tape = Tape()
    logits = tape.parameter([[0.0, MINUS, 0.0]], name="logits")
    targets = tape.parameter([[0.5, 0.0, 0.5]], name="targets")
    loss = cross_entropy(logits, targets)
    adjoints = tape.differentiate(loss, [logits, targets])
    read = [loss.symbol, *adjoints.roots()]
    run = tape.into_network().forward()
    value, slope, shares = (run.of(symbol) for symbol in read)
    assert abs(value.item() - math.log(2.0)) < 1e-6
    assert holds(slope, [[0.0, 0.0, 0.0]], f32)
    assert np.isfinite(shares.numpy()).all()


def test_labels_are_what_one_hot_shares_are() -> None:
    logits = Tensor(np.random.default_rng(0).standard_normal((4, 3)))
    labels = np.array([2, 0, 1, 1])
    shares = cross_entropy(logits, Tensor(np.eye(3)[labels]))
    for element in (i32, i64):
        assert same(cross_entropy(logits, Tensor(labels.tolist(), element)), shares)


def test_a_label_that_is_no_class_counts_as_a_sample_and_adds_nothing() -> None:
    logits = Tensor([[1.0, 2.0], [3.0, 0.0]], f64)
    both = cross_entropy(logits, Tensor([1, -1], i64))
    alone = cross_entropy(logits.narrow(0, 0, 1), Tensor([1], i64))
    assert both.item() == alone.item() / 2.0


def test_one_sample_needs_no_batch() -> None:
    assert cross_entropy(Tensor([0.0, 0.0]), Tensor(1, i64)).item() == np.log(np.float32(2.0))


def test_large_logits_do_not_overflow() -> None:
    tape = Tape()
    logits = tape.parameter([1e4, -1e4, 1e4, -1e4, 0.0], name="logits")
    targets = tape.input([1.0, 0.0, 0.0, 1.0, 0.25], name="targets")
    bce_with_logits(logits, targets).named("loss")
    run = tape.into_network().forward()
    assert abs(run.of("loss").item() - (2e4 + math.log(2.0)) / 5.0) < 1e-2
    slopes = run.backward("loss").of("logits").numpy()
    np.testing.assert_allclose(slopes, [0.0, 0.0, 0.2, -0.2, 0.05], rtol=1e-6, atol=0)


def test_mse_is_the_mean_of_squares() -> None:
    assert mse(Tensor([1.0, 5.0]), Tensor([0.0, 2.0])).item() == 5.0
