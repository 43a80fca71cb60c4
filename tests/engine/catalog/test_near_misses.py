"""Recordings that look like a pattern and are none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.engine.catalog.recordings import convolved, drawn, normalized, pooled
from topos import Tape, Value, mean, variance
from topos.engine.catalog import PatternKind


def kinds(tape: Tape, *results: Value, observe: tuple[Value, ...] = ()) -> set[PatternKind]:
    roots, observes = ([value.symbol for value in values] for values in (results, observe))
    plan = tape.into_network().entry(roots, observe=observes).lower()
    return {match.kind for match in plan.patterns()}


@pytest.mark.parametrize(
    "order",
    [
        (0, 2, 3, 4, 5, 1),
        (0, 2, 3, 1, 5, 4),
        (0, 3, 2, 1, 4, 5),
        (2, 0, 3, 1, 4, 5),
        (1, 2, 3, 0, 4, 5),
        (0, 2, 4, 1, 3, 5),
    ],
)
def test_another_order_of_lanes_or_places_is_no_window_product(order: tuple[int, ...]) -> None:
    # Every extent is three, so that the shapes of all orders are equal.
    tape = Tape()
    windows = tape.input(drawn(3, 3, 5, 5)).unfold(2, 3, 1).unfold(3, 3, 1)
    rows = windows.permute(order).reshape((27, 27))
    found = kinds(tape, rows @ tape.parameter(drawn(27, 2)))
    # The batch may lie in the second axis, and the channels in the first: that is a convolution.
    assert found == ({PatternKind.WINDOW_PRODUCT} if order == (1, 2, 3, 0, 4, 5) else set())


def test_a_matrix_split_elsewhere_is_no_window_product() -> None:
    tape = Tape()
    windows = tape.input(drawn(2, 3, 5, 5)).unfold(2, 3, 1).unfold(3, 3, 1)
    rows = windows.permute((0, 2, 3, 1, 4, 5)).reshape((54, 9))
    assert kinds(tape, rows @ tape.parameter(drawn(9, 2))) == set()


def test_windows_of_windows_are_no_window_product() -> None:
    tape = Tape()
    windows = tape.input(drawn(2, 3, 7)).unfold(2, 3, 1).unfold(2, 2, 1)
    rows = windows.permute((0, 2, 1, 3, 4)).reshape((8, 18))
    assert kinds(tape, rows @ tape.parameter(drawn(18, 2))) == set()


def test_patches_that_are_read_or_observed_stay_a_product() -> None:
    for observed in (False, True):
        tape = Tape()
        windows = tape.input(drawn(2, 3, 5, 5)).unfold(2, 3, 1).unfold(3, 3, 1)
        rows = windows.permute((0, 2, 3, 1, 4, 5)).reshape((18, 27))
        product = rows @ tape.parameter(drawn(27, 2))
        if observed:
            assert kinds(tape, product, observe=(rows,)) == set()
        else:
            assert kinds(tape, product, rows.sum()) == set()


def test_an_interior_bounds_a_window_product_and_padding_that_is_read_is_left_outside() -> None:
    tape = Tape()
    padded = tape.input(drawn(2, 3, 5, 5)).pad((0, 0, 1, 1), (0, 0, 1, 1))
    maps, _ = convolved(padded, 4)
    plan = tape.into_network().entry([maps.symbol], observe=[padded.symbol]).lower()
    (match,) = plan.patterns()
    assert match.root == maps.symbol
    assert padded.symbol not in match.claimed


def test_padding_of_the_channels_is_left_outside() -> None:
    tape = Tape()
    padded = tape.input(drawn(2, 3, 5, 5)).pad((0, 1, 1, 1), (0, 0, 1, 1))
    maps, _ = convolved(padded, 4)
    (match,) = tape.into_network().entry([maps.symbol]).lower().patterns()
    assert padded.symbol not in match.claimed


@pytest.mark.parametrize("axes", [(2, 3), (4,), (1, 4, 5), (3, 5)])
def test_a_maximum_over_another_axis_is_no_reduce_window(axes: tuple[int, ...]) -> None:
    tape = Tape()
    windows = tape.input(drawn(2, 3, 6, 6)).unfold(2, 2, 2).unfold(3, 2, 2)
    assert kinds(tape, windows.max(axes)) == set()


def test_a_sum_of_windows_and_windows_that_are_read_are_no_reduce_window() -> None:
    tape = Tape()
    windows = tape.input(drawn(2, 3, 6, 6)).unfold(2, 2, 2).unfold(3, 2, 2)
    largest = windows.max((4, 5))
    assert kinds(tape, windows.sum((4, 5)), largest, windows.sum()) == set()


@pytest.mark.parametrize("backward", [False, True])
def test_what_a_backward_posture_keeps_is_a_barrier(backward: bool) -> None:
    tape = Tape()
    result = pooled(tape.input(drawn(2, 3, 6, 6))).sum()
    plan = tape.into_network().entry([result.symbol], backward=backward).lower()
    assert len(plan.patterns()) == (0 if backward else 1)


def pool_gradient(*, first: bool = True, swapped: bool = False, least: int = -4) -> bool:
    """Returns whether the gradient of a pool, with one step changed, is recognized."""
    tape = Tape()
    source, cotangent = tape.input(drawn(2, 3, 6, 6)), tape.input(drawn(2, 3, 3, 3, seed=1))
    lanes, sizes = (4, 5), (2, 2)
    windows = source.unfold(2, 2, 2).unfold(3, 2, 2)
    attained = windows.equal(windows.max(lanes).broadcast_along(lanes, sizes))
    order = -source.iota(sizes)
    spread = order.broadcast_along((0, 1, 2, 3), (2, 3, 3, 3))
    candidate = attained.select(spread, spread.fill(least))
    is_first = candidate.equal(candidate.max(lanes).broadcast_along(lanes, sizes))
    chosen = attained.minimum(is_first if first else attained)
    given = cotangent.broadcast_along(lanes, sizes)
    lanes_given = chosen.select(given, given.fill(0.0))
    axes = (2, 3) if swapped else (3, 2)
    folded = lanes_given.fold(axes[0], 2, 6).fold(axes[1], 2, 6)
    return PatternKind.REDUCE_WINDOW_GRADIENT in kinds(tape, folded)


def test_the_gradient_of_a_pool_matches_step_by_step() -> None:
    assert pool_gradient()
    assert not pool_gradient(first=False)
    assert not pool_gradient(swapped=True)
    assert not pool_gradient(least=-3)


def input_gradient(
    order: tuple[int, ...], axes: tuple[int, int] = (3, 2)
) -> tuple[set[PatternKind], Value]:
    """Returns what a product that is laid out by `order` and folded is recognized as."""
    # Every extent is three, so that the shapes of all orders are equal.
    tape = Tape()
    cotangents, weights = tape.input(drawn(27, 2)), tape.parameter(drawn(27, 2, seed=1))
    lanes = (cotangents @ weights.transpose()).reshape((3, 3, 3, 3, 3, 3)).permute(order)
    folded = lanes.fold(axes[0], 1, 5).fold(axes[1], 1, 5)
    return kinds(tape, folded), folded


def test_the_gradient_of_an_input_matches_in_one_order_alone() -> None:
    wanted = {PatternKind.WINDOW_PRODUCT_INPUT_GRADIENT}
    assert input_gradient((0, 3, 1, 2, 4, 5))[0] == wanted
    # Windows may be unfolded in either order; then their lanes lie in that order too.
    assert input_gradient((0, 3, 1, 2, 5, 4), (2, 3))[0] == wanted
    for order in ((0, 3, 1, 2, 5, 4), (0, 3, 2, 1, 4, 5), (0, 1, 2, 3, 4, 5), (3, 0, 4, 5, 2, 1)):
        assert input_gradient(order)[0] == set()
    assert input_gradient((0, 3, 1, 2, 4, 5), (2, 3))[0] == set()


@pytest.mark.parametrize("order", [(0, 2, 3, 1, 4, 5), (0, 2, 3, 4, 5, 1)])
def test_the_gradient_of_weights_matches_in_one_order_of_lanes_alone(
    order: tuple[int, ...],
) -> None:
    tape = Tape()
    windows = tape.input(drawn(3, 3, 5, 5)).unfold(2, 3, 1).unfold(3, 3, 1)
    rows = windows.permute(order).reshape((27, 27))
    found = kinds(tape, rows.transpose() @ tape.input(drawn(27, 2)))
    kind = PatternKind.WINDOW_PRODUCT_WEIGHTS_GRADIENT
    assert found == ({kind} if order == (0, 2, 3, 1, 4, 5) else set())


@pytest.mark.parametrize(("axis", "count"), [(0, 1), (1, 0)])
def test_the_gradient_of_a_bias_sums_over_all_but_the_features(axis: int, count: int) -> None:
    tape = Tape()
    matrix = tape.input(drawn(2, 4, 3, 3)).permute((0, 2, 3, 1)).reshape((18, 4))
    found = kinds(tape, matrix.sum(axis))
    assert len(found & {PatternKind.WINDOW_PRODUCT_BIAS_GRADIENT}) == count


def test_a_sum_over_a_matrix_of_other_rows_is_no_gradient_of_a_bias() -> None:
    tape = Tape()
    matrix = tape.input(drawn(2, 4, 3, 3)).permute((0, 2, 3, 1)).reshape((9, 8))
    assert kinds(tape, matrix.sum(0)) == set()


def formula(
    *,
    axes: tuple[int, int] = (0, 0),
    unbiased: bool = False,
    outside: bool = False,
    uncentred: bool = False,
    rsqrt: bool = False,
) -> set[PatternKind]:
    """Returns what a batch normalization of [6, 6] with one step changed is recognized as."""
    tape = Tape()
    x = tape.input(drawn(6, 6))
    scale, shift = tape.parameter(drawn(6, seed=1)), tape.parameter(drawn(6, seed=2))

    def spread(value: Value) -> Value:
        return value.broadcast_along([0], [6])

    centre, width = mean(x, 0), variance(x, 0)
    if unbiased:
        width = width * (6.0 / 5.0)
    if uncentred:
        width = mean(x * x, 0)
    deviation = width.sqrt() + 1e-5 if outside else (width + 1e-5).sqrt()
    centred = x - spread(centre)
    standard = centred * spread(deviation.rsqrt()) if rsqrt else centred / spread(deviation)
    affine = scale.broadcast_along([axes[0]], [6]) * standard
    return kinds(tape, affine + shift.broadcast_along([axes[1]], [6]))


def test_the_formula_itself_matches() -> None:
    assert formula() == {PatternKind.BATCH_NORM_TRAINING}


def test_an_unbiased_variance_is_no_batch_normalization() -> None:
    assert formula(unbiased=True) == set()


def test_a_variance_about_zero_is_no_batch_normalization() -> None:
    assert formula(uncentred=True) == set()


def test_a_variance_of_sums_is_no_batch_normalization() -> None:
    tape = Tape()
    x = tape.input(drawn(6, 4))
    centre = mean(x, 0)
    added = x + centre.broadcast_along([0], [6])
    result, *_ = normalized(x, (0,), (centre, mean(added * added, 0)))
    assert kinds(tape, result) == set()


def test_an_epsilon_outside_of_the_root_is_no_batch_normalization() -> None:
    assert formula(outside=True) == set()


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (1, 1)])
def test_a_learned_value_along_the_batch_is_no_batch_normalization(axes: tuple[int, int]) -> None:
    assert formula(axes=axes) == set()


def test_a_reciprocal_root_is_no_batch_normalization() -> None:
    assert formula(rsqrt=True) == set()


@pytest.mark.parametrize(
    ("width", "matches"),
    [
        (lambda centred, x: (centred * centred).sum(0) / 6.0, True),
        (lambda centred, x: (centred * centred).sum(0) / 5.0, False),
        (lambda centred, x: (centred * centred).sum(0) * (1.0 / 6.0), False),
        (lambda centred, x: (centred * centred).sum(1) / 6.0, False),
        (lambda centred, x: (centred * centred).max(0) / 6.0, False),
        (lambda centred, x: (centred + centred).sum(0) / 6.0, False),
        (lambda centred, x: (centred * x).sum(0) / 6.0, False),
    ],
)
def test_a_variance_is_the_mean_square_of_what_is_centred(
    width: Callable[[Value, Value], Value], matches: bool
) -> None:
    tape = Tape()
    x = tape.input(drawn(6, 6))
    centred = x - mean(x, 0).broadcast_along([0], [6])
    result, *_ = normalized(x, (0,), (mean(x, 0), width(centred, x)))
    assert kinds(tape, result) == ({PatternKind.BATCH_NORM_TRAINING} if matches else set())


def test_an_observed_interior_of_a_normalization_is_a_barrier() -> None:
    tape = Tape()
    x = tape.input(drawn(6, 4))
    centre, width = mean(x, 0), variance(x, 0)
    centred = x - centre.broadcast_along([0], [6])
    standard = centred / (width + 1e-5).sqrt().broadcast_along([0], [6])
    scale, shift = tape.parameter(drawn(4)), tape.parameter(drawn(4))
    result = standard * scale.broadcast_along([0], [6]) + shift.broadcast_along([0], [6])
    assert kinds(tape, result, observe=(centred,)) == set()


def test_a_statistic_that_an_operand_depends_on_is_a_barrier() -> None:
    tape = Tape()
    x = tape.input(drawn(6, 4))
    centre, width = mean(x, 0), variance(x, 0)
    standard = (x - centre.broadcast_along([0], [6])) / (
        (width + 1e-5).sqrt().broadcast_along([0], [6])
    )
    scale, shift = tape.parameter(drawn(4)), width * 2.0
    result = standard * scale.broadcast_along([0], [6]) + shift.broadcast_along([0], [6])
    assert kinds(tape, result) == set()


def test_a_softmax_over_the_queries_is_no_attention() -> None:
    tape = Tape()
    query, key, value = (tape.input(drawn(5, 5, seed=seed)) for seed in range(3))
    weights = (query @ key.transpose()).log_softmax(0).exp()
    assert kinds(tape, weights @ value) == set()


@pytest.mark.parametrize(("axes", "inside"), [((0, 2, 1), True), ((2, 0, 1), False)])
def test_attention_of_a_stack_takes_in_what_swaps_the_last_two_axes_of_its_keys(
    axes: tuple[int, ...], inside: bool
) -> None:
    tape = Tape()
    query, key, value = (tape.input(drawn(5, 5, 5, seed=seed)) for seed in range(3))
    turned = key.permute(axes)
    result = (query @ turned).log_softmax(2).exp() @ value
    plan = tape.into_network().entry([result.symbol]).lower()
    (match,) = plan.patterns()
    assert match.kind is PatternKind.ATTENTION
    assert (turned.symbol in match.claimed) is inside


def test_weights_that_are_read_are_no_attention() -> None:
    tape = Tape()
    query, key, value = (tape.input(drawn(5, 5, seed=seed)) for seed in range(3))
    weights = (query @ key.transpose()).log_softmax(1).exp()
    assert kinds(tape, weights @ value, observe=(weights,)) == set()
    tape = Tape()
    query, key, value = (tape.input(drawn(5, 5, seed=seed)) for seed in range(3))
    weights = (query @ key.transpose()).log_softmax(1).exp()
    assert kinds(tape, weights @ value, weights.sum()) == set()


def test_a_scale_that_is_no_constant_is_no_attention() -> None:
    tape = Tape()
    query, key, value = (tape.input(drawn(5, 5, seed=seed)) for seed in range(3))
    scores = (query @ key.transpose()) * tape.input(np.float32(0.5)).broadcast((5, 5))
    assert kinds(tape, scores.log_softmax(1).exp() @ value) == set()
