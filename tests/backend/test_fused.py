"""The fused batch normalization beside the formula as it is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.engine.catalog.recordings import attended, convolved, drawn, normalized, pooled
from topos import (
    Network,
    Numerics,
    Tape,
    TensorType,
    bf16,
    cache_step,
    f32,
    f64,
    i64,
    mean,
    variance,
)
from topos.backend import Backend, BatchNormTask, Formula, Normalized, serve
from topos.engine.catalog import Match, PatternKind, discover, elect
from topos.engine.catalog.kernels import home
from topos.engine.choices import Choices
from topos.payload import Element

Array = npt.NDArray[Any]
BATCH, FEATURES, EPSILON = 37, 5, 1e-5


def recorded(element: Element) -> Network:
    """Records the normalization of a batch with its statistics."""
    tape = Tape(element=element)
    x = tape.input(shape=(BATCH, FEATURES), name="x")
    scale, shift = (tape.input(shape=(FEATURES,), name=name) for name in ("scale", "shift"))
    average, spread = mean(x, 0), variance(x, 0)
    deviation = (spread + EPSILON).sqrt()
    wide = [value.broadcast_along((0,), (BATCH,)) for value in (average, deviation, scale, shift)]
    (wide[2] * ((x - wide[0]) / wide[1]) + wide[3]).named("output")
    average.named("mean")
    spread.named("variance")
    return tape.into_network()


def operands(element: Element) -> dict[str, Array]:
    random = np.random.default_rng(5)
    shapes = {"x": (BATCH, FEATURES), "scale": (FEATURES,), "shift": (FEATURES,)}
    return {
        name: (random.standard_normal(shape) + 1.0).astype(element.dtype)
        for name, shape in shapes.items()
    }


def task(element: Element) -> BatchNormTask:
    return BatchNormTask(TensorType((BATCH, FEATURES), element), EPSILON)


@pytest.mark.parametrize("special", [None, np.nan, np.inf], ids=str)
@pytest.mark.parametrize("element", [f64, f32, bf16], ids=str)
def test_an_exact_normalization_has_the_bits_of_its_formula(
    element: Element, special: float | None
) -> None:
    feeds = operands(element)
    if special is not None:
        feeds["x"][3, 1] = special
    kernel, backend, _ = serve(Formula.BATCH_NORM_TRAINING, task(element), True)
    assert backend is None
    run = recorded(element).forward(None, feeds)
    found = kernel(*feeds.values())
    assert isinstance(found, Normalized)
    for name, array in found._asdict().items():
        assert array.tobytes() == run.of(name).numpy().tobytes(), name


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("element", [f64, f32, bf16], ids=str)
def test_a_normalization_writes_where_it_is_told(element: Element, exact: bool) -> None:
    feeds = operands(element)
    kernel = serve(Formula.BATCH_NORM_TRAINING, task(element), exact).kernel
    out = np.empty((BATCH, FEATURES), element.dtype)
    found = kernel(*feeds.values(), out=out)
    assert found.output is out
    assert out.tobytes() == kernel(*feeds.values()).output.tobytes()


@pytest.mark.parametrize("element", [f64, f32], ids=str)
def test_a_fast_normalization_is_near_its_formula(element: Element) -> None:
    feeds = operands(element)
    run = recorded(element).forward(None, feeds)
    found = serve(Formula.BATCH_NORM_TRAINING, task(element), False).kernel(*feeds.values())
    for name, array in found._asdict().items():
        unit = 64 * np.finfo(element.dtype).eps
        np.testing.assert_allclose(array, run.of(name).numpy(), rtol=unit, atol=unit)


def fused_kinds(numerics: Numerics) -> set[PatternKind]:
    """Returns the patterns that have a kernel for that posture, of a recording with all of them."""
    tape = Tape()
    image = tape.input(drawn(3, 2, 7, 8))
    maps, weights = convolved(image, 4)
    pool = pooled(maps)
    tape.differentiate((pool * pool).sum(), [*weights, image])
    normalized(tape.input(drawn(6, 3)), (0,))
    statistics = tape.input(drawn(3)), tape.input(drawn(3) ** 2)
    normalized(tape.input(drawn(6, 3)), (0,), statistics)
    attended(tape)
    row, place = tape.input(shape=(1, 1, 1, 2)), tape.input(shape=(), element=i64)
    cache_step(tape.input(shape=(1, 1, 4, 2)), row, place)
    wide = tape.input(shape=(1 << 25,)) * 2.0 + 1.0
    network = tape.into_network()
    columns, found = network.columns, set()

    def supports(match: Match) -> bool:
        types = [columns.forms[operand].type for operand in match.operands]
        if not isinstance(home(match, types, Choices(numerics)), str):
            found.add(match.kind)
        return True

    elect(discover(columns, range(network.length)), supports, [wide.symbol.position])
    return found


def test_coverage_says_which_patterns_keep_their_bits() -> None:
    assert fused_kinds(Numerics.FAST) == set(PatternKind)
    exact = {Formula(kind.value) for kind in fused_kinds(Numerics.EXACT)}
    covered = {formula for formula in Formula if Backend.FUSED.coverage(formula).admits(exact=True)}
    assert covered == exact
