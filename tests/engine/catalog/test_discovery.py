"""What the catalog recognizes in a recording, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.engine.catalog.recordings import attended, convolved, drawn, normalized, pooled
from tests.runtimes.held import has_oracle_bits
from topos import Network, Symbol, Tape, Value, mean, relu, variance
from topos.engine.catalog import PatternKind, PatternMatch


def matches(tape: Tape, *results: Value, observe: tuple[Value, ...] = ()) -> list[PatternMatch]:
    """Returns the patterns of the plan of `results`."""
    roots, observes = ([value.symbol for value in values] for values in (results, observe))
    return list(tape.into_network().entry(roots, observe=observes).lower().patterns())


def names(network: Network, symbols: tuple[Symbol, ...]) -> list[str]:
    nodes = list(network.nodes())
    return [nodes[symbol.position].operation.name for symbol in symbols]


@pytest.mark.parametrize(
    ("form", "pad", "claimed"),
    [
        ("rows", 0, "unfold unfold permute reshape matmul broadcast_along add reshape permute"),
        ("rows", 1, "pad unfold unfold permute reshape matmul broadcast_along add reshape permute"),
        (
            "stack",
            0,
            "unfold unfold permute reshape reshape transpose matmul broadcast_along add reshape"
            " permute",
        ),
        ("columns", 0, "unfold unfold permute reshape matmul broadcast_along add reshape permute"),
        ("late", 0, "unfold unfold permute reshape matmul reshape permute broadcast_along add"),
    ],
)
def test_a_convolution_is_a_window_product(form: str, pad: int, claimed: str) -> None:
    tape = Tape()
    image = tape.input(drawn(2, 3, 6, 7))
    maps, _ = convolved(image, 4, form=form, pad=pad)
    network, root = tape.into_network(), maps.symbol
    (match,) = network.entry([root]).lower().patterns()
    assert (match.kind, match.root, match.results) == (PatternKind.WINDOW_PRODUCT, root, (root,))
    assert names(network, match.claimed) == claimed.split()


def test_windows_unfolded_in_any_order_and_channels_that_lie_last_match() -> None:
    tape = Tape()
    image = tape.input(drawn(2, 6, 7, 3))
    weights = tape.parameter(drawn(18, 4))
    windows = image.unfold(2, 2, 1).unfold(1, 3, 1)
    product = windows.permute((0, 1, 2, 3, 5, 4)).reshape((2 * 4 * 6, 18)) @ weights
    (match,) = matches(tape, product)
    assert (match.kind, match.root) == (PatternKind.WINDOW_PRODUCT, product.symbol)


def test_a_signal_of_one_axis_is_a_window_product() -> None:
    tape = Tape()
    signal, weights = tape.input(drawn(2, 3, 9)), tape.parameter(drawn(6, 4))
    rows = signal.unfold(2, 2, 2).permute((0, 2, 1, 3)).reshape((8, 6))
    (match,) = matches(tape, rows @ weights)
    assert match.kind is PatternKind.WINDOW_PRODUCT


def test_a_pool_is_a_reduce_window() -> None:
    tape = Tape()
    result = pooled(tape.input(drawn(2, 3, 6, 6)))
    (match,) = matches(tape, result)
    assert match.kind is PatternKind.REDUCE_WINDOW
    assert [symbol.position for symbol in match.claimed] == [1, 2, 3]


def test_the_gradients_of_convolution_and_pool_match() -> None:
    tape = Tape()
    image = tape.input(drawn(2, 1, 8, 8))
    first, weights = convolved(image, 3, pad=1)
    second, more = convolved(pooled(relu(first)), 2, form="columns", seed=7)
    loss = (second * second).sum()
    adjoints = tape.differentiate(loss, [*weights, *more, image])
    roots = [tape.value(symbol) for symbol in adjoints.roots()]
    found = [match.kind for match in matches(tape, loss, *roots)]
    expected = {
        PatternKind.WINDOW_PRODUCT: 2,
        PatternKind.WINDOW_PRODUCT_WEIGHTS_GRADIENT: 2,
        PatternKind.WINDOW_PRODUCT_INPUT_GRADIENT: 2,
        PatternKind.WINDOW_PRODUCT_BIAS_GRADIENT: 2,
        PatternKind.REDUCE_WINDOW: 1,
        PatternKind.REDUCE_WINDOW_GRADIENT: 1,
    }
    assert {kind: found.count(kind) for kind in expected} == expected
    assert len(found) == sum(expected.values())


def test_no_node_is_claimed_twice() -> None:
    tape = Tape()
    maps, weights = convolved(tape.input(drawn(2, 1, 8, 8)), 3)
    loss = pooled(maps).sum()
    roots = [tape.value(symbol) for symbol in tape.differentiate(loss, weights).roots()]
    claimed = [symbol for match in matches(tape, loss, *roots) for symbol in match.claimed]
    assert len(claimed) == len(set(claimed)) > 0


@pytest.mark.parametrize(
    ("shape", "axes"), [((6, 4), (0,)), ((3, 4, 5), (0, 2)), ((2, 3, 5), (0, 1))]
)
def test_a_batch_normalization_names_its_statistics(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    tape = Tape()
    result, centre, width = normalized(tape.input(drawn(*shape)), axes)
    symbols = (result.symbol, centre.symbol, width.symbol)
    (match,) = matches(tape, result, observe=(centre, width))
    assert match.kind is PatternKind.BATCH_NORM_TRAINING
    assert match.results == symbols
    assert set(symbols) <= set(match.claimed)


def test_statistics_may_be_read_before_the_normalization_is_recorded() -> None:
    tape = Tape()
    x = tape.input(drawn(6, 4))
    scale, shift = tape.parameter(drawn(4, seed=1)), tape.parameter(drawn(4, seed=2))
    centre, width = mean(x, 0), variance(x, 0)
    running = centre * 0.9 + width * 0.1
    deviation = (width + 0.125).sqrt().broadcast_along([0], [6])
    standard = (x - centre.broadcast_along([0], [6])) / deviation
    result = standard * scale.broadcast_along([0], [6]) + shift.broadcast_along([0], [6])
    plan = tape.into_network().entry([result.symbol, running.symbol]).lower()
    assert [match.kind for match in plan.patterns()] == [PatternKind.BATCH_NORM_TRAINING]
    oracle = plan.network.entry(plan.results).interpret()
    run = plan.forward()
    for symbol in plan.results:
        np.testing.assert_allclose(run.of(symbol).numpy(), oracle.of(symbol).numpy(), atol=1e-6)
    assert plan.emit_stablehlo().count("stablehlo.batch_norm_training") == 1
    assert has_oracle_bits(plan, "interpreter", "exact")


def test_a_normalization_by_given_statistics_is_inference() -> None:
    tape = Tape()
    statistics = (tape.parameter(drawn(4)), tape.parameter(drawn(4) ** 2))
    result, *_ = normalized(tape.input(drawn(6, 4)), (0,), statistics)
    (match,) = matches(tape, result)
    assert (match.kind, match.results) == (PatternKind.BATCH_NORM_INFERENCE, (result.symbol,))


@pytest.mark.parametrize("masked", [False, True])
def test_attention_matches_from_scores_to_result(masked: bool) -> None:
    tape = Tape()
    result = attended(tape, masked=masked)
    network = tape.into_network()
    (match,) = network.entry([result.symbol]).lower().patterns()
    assert (match.kind, match.root) == (PatternKind.ATTENTION, result.symbol)
    mask = ["select"] if masked else []
    order = ["transpose", "matmul", "mul", *mask, "log_softmax", "map", "matmul"]
    assert names(network, match.claimed) == order


@pytest.mark.parametrize(
    ("spread", "matches_whole"),
    [
        (lambda tape: tape.leaf(np.float32(0.5)).broadcast((2, 5, 5)), True),
        (lambda tape: tape.leaf(np.full(5, 0.5, np.float32)[:1]).reshape(()), False),
        (lambda tape: tape.leaf(np.float32(0.5)).broadcast_along([0, 1, 2], [2, 5, 5]), True),
        (lambda tape: tape.leaf(drawn(5)).broadcast_along([0, 1], [2, 5]), False),
    ],
)
def test_a_constant_is_a_number_however_it_is_spread(spread: Any, matches_whole: bool) -> None:
    tape = Tape()
    query, key, value = (tape.input(drawn(2, 5, 3, seed=seed)) for seed in range(3))
    scale = spread(tape)
    if not scale.shape:
        scale = scale.broadcast((2, 5, 5))
    scores = (query @ key.transpose()) * scale
    found = matches(tape, scores.log_softmax(2).exp() @ value)
    # With another factor the scores are no product, and there is nothing to attend with.
    assert [match.kind for match in found] == [PatternKind.ATTENTION] * matches_whole


def test_a_pattern_prints_what_it_claims() -> None:
    tape = Tape()
    (match,) = matches(tape, pooled(tape.input(np.zeros((1, 1, 2, 2), np.float32))))
    told = "%3 = reduce_window of %1 %2 %3; fused; raised to stablehlo.reduce_window"
    assert str(match) == told


@pytest.mark.parametrize("axis", range(4))
def test_the_gradient_of_an_input_is_cut_along_the_spatial_axes_alone(axis: int) -> None:
    tape = Tape()
    product = tape.input(drawn(27, 2)) @ tape.parameter(drawn(27, 2, seed=1)).transpose()
    lanes = product.reshape((3, 3, 3, 3, 3, 3)).permute((0, 3, 1, 2, 4, 5))
    folded = lanes.fold(3, 1, 5).fold(2, 1, 5)
    cuts = [folded.narrow(axis, start, folded.shape[axis] - 1) for start in (0, 1)]
    network = tape.into_network()
    for cut in cuts:
        (match,) = network.entry([cut.symbol]).lower().patterns()
        assert match.root == (cut.symbol if axis >= 2 else folded.symbol)
