"""Losses at their edges: zero targets, labels that are no class, logits that overflow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.exact import holds, same
from topos import Element, Tape, Tensor, bf16, f16, f32, f64, i32, i64
from topos.neural import bce_with_logits, cross_entropy, layer_norm, mse, rms_norm

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


@pytest.mark.parametrize("element", [f16, bf16], ids=str)
def test_16_bits_reduce_in_the_wide_element_and_round_once(element: Element) -> None:
    # The sums here are beyond f16, and so is a single square of 1000.
    large = Tensor(np.tile([1000.0, -1000.0], (64, 1)), f64).convert(element)
    labels, blank = Tensor([1] * 64, i64), Tensor(0.0, element)
    scale, shift = blank.broadcast((2,)) + 1.0, blank.broadcast((2,))
    near = large * 0.125
    other = blank.broadcast((64, 2))
    pairs = [
        (cross_entropy(large, labels), cross_entropy(_raised(large), labels)),
        (mse(near, other), mse(_raised(near), _raised(other))),
        (layer_norm(large, scale, shift), layer_norm(*map(_raised, (large, scale, shift)))),
        (rms_norm(large, scale), rms_norm(*map(_raised, (large, scale)))),
    ]
    for own, wide in pairs:
        assert same(own, wide.convert(element))
        assert np.isfinite(own.convert(f32).numpy()).all()


def _raised(value: Tensor) -> Tensor:
    return value.convert(f32)
