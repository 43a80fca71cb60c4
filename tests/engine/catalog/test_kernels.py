"""Every home kernel on the values of the oracle, held against the node it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from tests.engine.catalog.recordings import attended, convolved, drawn, normalized, pooled
from topos import Element, Numerics, Tape, Value, bf16, f32, f64, relu
from topos.backend import Function
from topos.engine.catalog import Match, PatternKind, discover, elect
from topos.engine.catalog.kernels import (
    attention,
    home,
    window_product,
    window_product_gradient,
)
from topos.engine.catalog.kernels.window_product import extent_of
from topos.engine.catalog.windows import Patches
from topos.engine.choices import Choices

Array = npt.NDArray[Any]
Recording = Callable[[Tape], list[Value]]


def elected(
    tape: Tape, results: list[Value], numerics: Numerics
) -> tuple[dict[Match, Function], dict[int, Array]]:
    """Returns the matches with a kernel, and the oracle's value of every node."""
    positions = [value.symbol.position for value in results]
    network = tape.into_network()
    columns = network.columns
    run = network.forward()
    values = {symbol.position: run.of(symbol).numpy() for symbol in run.symbols()}
    kernels: dict[Match, Function] = {}

    def supports(match: Match) -> bool:
        types = [columns.forms[operand].type for operand in match.operands]
        kernel = home(match, types, Choices(numerics))
        if isinstance(kernel, str):
            return False
        kernels[match] = kernel
        return True

    order = list(range(network.length))
    chosen = elect(discover(columns, order), supports, positions)
    return {match: kernels[match] for match in chosen}, values


def with_gradients(*parts: Value) -> list[Value]:
    """Returns a loss of the first value and its recorded gradients for the others."""
    value, *parameters = parts
    # Cotangents of every size and sign, some of them -0.
    weights = value.tape.leaf(drawn(*value.shape, seed=9, element=value.element))
    loss = (value * weights * value.greater(0.0).select(weights.fill(1.0), -0.0)).sum()
    tape = value.tape
    roots = tape.differentiate(loss, parameters).roots()
    return [loss, *(tape.value(symbol) for symbol in roots)]


def convolution(form: str, size: int, step: int, pad: int) -> Recording:
    def record(tape: Tape) -> list[Value]:
        image = tape.input(drawn(3, 2, 7, 8, element=tape.element))
        maps, weights = convolved(image, 4, form=form, size=size, step=step, pad=pad)
        return with_gradients(maps, *weights, image)

    return record


def large(tape: Tape) -> list[Value]:
    """Records a convolution of which no block holds the patches of one image."""
    image = tape.input(drawn(2, 16, 40, 40, element=tape.element))
    maps, weights = convolved(image, 3, pad=1)
    return with_gradients(maps, *weights)


def channels_last(tape: Tape) -> list[Value]:
    image = tape.input(drawn(3, 7, 8, 2, element=tape.element))
    weights = tape.parameter(drawn(18, 4, seed=1, element=tape.element))
    rows = image.unfold(1, 3, 1).unfold(2, 3, 1).reshape((90, 18))
    return with_gradients((rows @ weights).reshape((3, 5, 6, 4)), weights, image)


def signal(tape: Tape) -> list[Value]:
    source = tape.input(drawn(3, 2, 9, element=tape.element))
    weights = tape.parameter(drawn(6, 4, seed=1, element=tape.element))
    rows = source.unfold(2, 3, 1).permute((0, 2, 1, 3)).reshape((21, 6))
    return with_gradients((rows @ weights).reshape((3, 7, 4)), weights, source)


def pool(size: int | tuple[int, int], step: int) -> Recording:
    def record(tape: Tape) -> list[Value]:
        # Many ties, of zeros of both signs too.
        numbers = np.round(drawn(2, 3, 7, 8, element=tape.element))
        source = tape.input(numbers)
        return with_gradients(pooled(source, size, step), source)

    return record


def normalization(tape: Tape) -> list[Value]:
    return list(normalized(tape.input(drawn(6, 3, 5, element=tape.element)), (0, 2)))


def inference(tape: Tape) -> list[Value]:
    statistics = (
        tape.input(drawn(3, seed=3, element=tape.element)),
        tape.input(drawn(3, seed=4, element=tape.element) ** 2),
    )
    return [normalized(tape.input(drawn(6, 3, element=tape.element)), (0,), statistics)[0]]


W, R = PatternKind.WINDOW_PRODUCT, PatternKind.REDUCE_WINDOW
RG, IG = PatternKind.REDUCE_WINDOW_GRADIENT, PatternKind.WINDOW_PRODUCT_INPUT_GRADIENT
WG, BG = (
    PatternKind.WINDOW_PRODUCT_WEIGHTS_GRADIENT,
    PatternKind.WINDOW_PRODUCT_BIAS_GRADIENT,
)
# What is elected in Fast, and the part of it that is elected in Exact.
CASES: Final[dict[str, tuple[Recording, set[PatternKind], set[PatternKind]]]] = {
    "rows": (convolution("rows", 3, 1, 0), {W, WG, IG, BG}, {IG}),
    "padded": (convolution("rows", 3, 1, 1), {W, WG, IG, BG}, {IG}),
    "strided": (convolution("rows", 2, 2, 1), {W, WG}, set()),
    "stack": (convolution("stack", 2, 1, 2), {W, WG, IG, BG}, {IG}),
    "columns": (convolution("columns", 3, 1, 1), {W, WG, IG, BG}, {IG}),
    "late": (convolution("late", 3, 1, 1), {W, WG, IG}, {IG}),
    "large": (large, {W, WG, BG}, set()),
    "channels_last": (channels_last, {W, WG, IG}, {IG}),
    "signal": (signal, {W, WG, IG}, {IG}),
    "pool": (pool(2, 2), {R, RG}, {R, RG}),
    "gaps": (pool(2, 3), {R, RG}, {R, RG}),
    "overlapping": (pool(3, 2), {R, RG}, set()),
    "one_row": (pool((1, 3), 2), {R, RG}, set()),
    "normalization": (normalization, {PatternKind.BATCH_NORM_TRAINING}, set()),
    "inference": (inference, {PatternKind.BATCH_NORM_INFERENCE}, set()),
    "attention": (
        lambda tape: [attended(tape, element=tape.element)],
        {PatternKind.ATTENTION},
        set(),
    ),
    "masked": (
        lambda tape: [attended(tape, masked=True, element=tape.element)],
        {PatternKind.ATTENTION},
        set(),
    ),
}


@pytest.mark.parametrize("element", [f32, f64], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_a_fast_kernel_answers_what_the_oracle_does_but_for_rounding(
    name: str, element: Element
) -> None:
    record, kinds, _ = CASES[name]
    tape = Tape(element=element)
    chosen, values = elected(tape, record(tape), Numerics.FAST)
    assert {match.kind for match in chosen} == kinds
    tolerance = 1e-5 if element is f32 else 1e-13
    for match, kernel in chosen.items():
        for ours, node in zip(answers(match, kernel, values), match.results, strict=True):
            scale = np.abs(values[node]).max()
            np.testing.assert_allclose(ours, values[node], atol=tolerance * scale, rtol=0)


@pytest.mark.parametrize("element", [f32, f64], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_an_exact_kernel_has_the_oracles_bits(name: str, element: Element) -> None:
    record, _, kinds = CASES[name]
    tape = Tape(element=element)
    chosen, values = elected(tape, record(tape), Numerics.EXACT)
    assert {match.kind for match in chosen} == kinds
    for match, kernel in chosen.items():
        for ours, node in zip(answers(match, kernel, values), match.results, strict=True):
            assert np.ascontiguousarray(ours).tobytes() == values[node].tobytes(), match.kind


# The scores of a head take 100 bytes.
@pytest.mark.parametrize(
    ("block", "wanted"),
    [(99, {(5, 3)}), (200, {(2, 5, 3)}), (400, {(2, 2, 5, 3), (1, 2, 5, 3)})],
)
@pytest.mark.parametrize("masked", [False, True])
def test_attention_holds_the_scores_of_a_block_at_a_time(
    masked: bool, block: int, wanted: set[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes, attend = set(), attention._Attention._attend

    def watched(kernel: Any, queries: Array, *others: Array, target: Array) -> None:
        shapes.add(queries.shape)
        attend(kernel, queries, *others, target=target)

    monkeypatch.setattr(attention, "_BYTES", block)
    monkeypatch.setattr(attention._Attention, "_attend", watched)
    tape = Tape()
    chosen, values = elected(tape, [attended(tape, 3, 2, masked=masked)], Numerics.FAST)
    ((match, kernel),) = chosen.items()
    (ours,) = answers(match, kernel, values)
    assert shapes == wanted
    np.testing.assert_allclose(ours, values[match.root], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("form", "channels", "size"),
    [("rows", 2, 8), ("rows", 16, 40), ("stack", 2, 8), ("columns", 2, 8), ("late", 2, 8)],
)
def test_an_exact_window_product_has_the_oracles_bits(form: str, channels: int, size: int) -> None:
    tape = Tape()
    maps, _ = convolved(tape.input(drawn(3, channels, size - 1, size)), 4, form=form, pad=1)
    chosen, values = elected(tape, [maps], Numerics.EXACT)
    (match,) = chosen
    (ours,) = answers(match, chosen[match], values)
    assert np.ascontiguousarray(ours).tobytes() == values[match.root].tobytes()


def answers(match: Match, kernel: Function, values: dict[int, Array]) -> list[Array]:
    """Returns the kernel's results, after checks that `out` holds them and operands are kept."""
    operands = [values[operand] for operand in match.operands]
    before = [operand.tobytes() for operand in operands]
    results = kernel(*operands)
    several = list(results) if len(match.results) > 1 else [results]
    out = np.full_like(values[match.root], 7, order="C")
    kernel(*operands, out=out)
    assert out.tobytes() == np.ascontiguousarray(several[0]).tobytes()
    strided = [strided_copy(operand) for operand in operands]
    again = kernel(*strided)
    first = again[0] if len(match.results) > 1 else again
    np.testing.assert_allclose(first, several[0], rtol=1e-4, atol=1e-5)
    assert [operand.tobytes() for operand in operands] == before
    return several


def strided_copy(array: Array) -> Array:
    """Returns the same numbers with other strides."""
    spaced = np.zeros(tuple(2 * extent for extent in array.shape), array.dtype)
    view = spaced[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


@pytest.mark.parametrize("numerics", [Numerics.FAST, Numerics.EXACT])
@pytest.mark.parametrize("low", [(1, 0, 0, 0), (0, 1, 0, 0), (1, 2, 1, 1)])
def test_padding_of_images_and_channels_takes_no_part_in_a_gradient(
    low: tuple[int, ...], numerics: Numerics
) -> None:
    tape = Tape()
    image = tape.input(drawn(2, 1, 5, 5))
    maps, _ = convolved(image.pad(low, (0, 1, 0, 1)), 3, size=2)
    _, gradient = with_gradients(maps, image)
    entry = tape.into_network().entry([gradient.symbol], numerics=numerics)
    ours = entry.lower().forward().of(gradient.symbol).numpy()
    oracle = entry.interpret().of(gradient.symbol).numpy()
    if numerics is Numerics.EXACT:
        assert ours.tobytes() == oracle.tobytes()
    np.testing.assert_allclose(ours, oracle, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("numerics", [Numerics.FAST, Numerics.EXACT])
def test_a_weight_that_is_infinite_reaches_the_elements_it_meets_alone(numerics: Numerics) -> None:
    tape = Tape()
    numbers = drawn(8, 3, seed=1)
    numbers[3, 1] = np.inf
    cotangents, weights = tape.input(np.abs(drawn(32, 3))), tape.parameter(numbers)
    lanes = (cotangents @ weights.transpose()).reshape((2, 4, 4, 2, 2, 2))
    folded = lanes.permute((0, 3, 1, 2, 4, 5)).fold(3, 1, 5).fold(2, 1, 5)
    chosen, values = elected(tape, [folded], numerics)
    ((match, kernel),) = chosen.items()
    with np.errstate(invalid="ignore"):
        ours = kernel(*(values[operand] for operand in match.operands))
    oracle = values[match.root]
    assert np.isinf(oracle).any()
    assert not np.isnan(oracle).any()
    if numerics is Numerics.EXACT:
        assert ours.tobytes() == oracle.tobytes()
    np.testing.assert_allclose(ours, oracle, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("number", [0.0, -0.0, 1e-40, 3e38, np.inf, np.nan])
def test_attention_by_a_divisor_without_a_normal_reciprocal_runs_its_nodes(number: float) -> None:
    def record(tape: Tape) -> Value:
        query, key, value = (tape.input(np.abs(drawn(5, 5, seed=seed))) for seed in range(3))
        scores = query @ key.transpose()
        return (scores / scores.fill(number)).log_softmax(1).exp() @ value

    tape = Tape()
    assert elected(tape, [record(tape)], Numerics.FAST)[0] == {}
    tape = Tape()
    symbol = record(tape).symbol
    entry = tape.into_network().entry([symbol])
    ours = entry.lower().forward().of(symbol).numpy()
    np.testing.assert_allclose(ours, entry.interpret().of(symbol).numpy(), rtol=1e-5)


def test_the_gradient_of_a_pool_chooses_and_never_multiplies() -> None:
    tape = Tape()
    source = tape.input(np.array([[[[1.0, 2.0], [2.0, 0.0]]]], np.float32))
    loss = pooled(source).sum() * float("inf")
    roots = tape.differentiate(loss, [source]).roots()
    entry = tape.into_network().entry(list(roots))
    expected = entry.interpret().of(roots[0]).numpy()
    assert expected.tolist() == [[[[0.0, np.inf], [0.0, 0.0]]]]
    assert np.array_equal(entry.lower().forward().of(roots[0]).numpy(), expected)


def test_elements_that_round_every_node_have_no_kernel() -> None:
    tape = Tape(element=bf16)
    maps, _ = convolved(tape.input(drawn(2, 2, 5, 5, element=bf16)), 3)
    assert elected(tape, [pooled(relu(maps))], Numerics.FAST)[0] == {}


def test_a_batch_of_nothing_runs_its_nodes() -> None:
    tape = Tape()
    maps, _ = convolved(tape.input(drawn(0, 2, 5, 5)), 3)
    run = tape.into_network().entry([maps.symbol]).lower().forward()
    assert run.of(maps.symbol).shape == (0, 3, 3, 3)


@pytest.mark.parametrize("numerics", [Numerics.FAST, Numerics.EXACT])
def test_a_nan_on_the_way_through_a_window_product_is_the_oracles(numerics: Numerics) -> None:
    tape = Tape()
    numbers = drawn(2, 2, 6, 6)
    numbers[0, 0, 0, 0], numbers[0, 1, 0, 0] = np.inf, -np.inf
    maps, _ = convolved(tape.input(numbers), 3)
    # The sum of a NaN whose sign is set has none: only the oracle's way knows.
    result = pooled(-maps + 1.0)
    entry = tape.into_network().entry([result.symbol], numerics=numerics)
    ours = entry.lower().forward().of(result.symbol).numpy()
    oracle = entry.interpret().of(result.symbol).numpy()
    if numerics is Numerics.EXACT:
        assert ours.tobytes() == oracle.tobytes()
    np.testing.assert_allclose(ours, oracle, rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "counts", "wanted"),
    [
        # A row of 38 windows of 144 elements takes 21,888 bytes, of 524,288.
        ((2, 16, 40, 40), (38, 38), (1, 23)),
        # Five rows of six windows of 18 elements take 2,160.
        ((300, 2, 7, 8), (5, 6), (242, 5)),
        ((3, 2, 7, 8), (5, 6), (3, 5)),
        ((1, 40_000, 5, 3), (3, 1), (1, 1)),
    ],
)
def test_a_block_of_patches_has_the_rows_or_images_that_the_cache_holds(
    shape: tuple[int, ...], counts: tuple[int, ...], wanted: tuple[int, int]
) -> None:
    zeros = (0,) * 4
    patches = Patches(0, 0, 1, (2, 3), (3, 3), (1, 1), zeros, zeros, counts, True, ())
    assert extent_of(patches, shape, 4) == wanted


# Of three images one, or two and then one.
@pytest.mark.parametrize("block", [500, 14_000])
@pytest.mark.parametrize("name", ["padded", "columns", "signal"])
def test_images_go_block_by_block(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_product, "_BYTES", block)
    monkeypatch.setattr(window_product_gradient, "_BYTES", block)
    test_a_fast_kernel_answers_what_the_oracle_does_but_for_rounding(name, f32)
    test_an_exact_kernel_has_the_oracles_bits(name, f32)
