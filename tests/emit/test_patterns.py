"""Patterns raised to operations of StableHLO, on every runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from tests.emit.near import demand_near
from tests.engine.catalog.recordings import convolved, drawn, normalized, pooled
from tests.runtimes.held import has_oracle_bits
from tests.runtimes.require import require
from topos import Element, Numerics, Plan, Tape, bf16, f32, f64, judge, mean, relu, variance

CONVOLUTION: Final = "stablehlo.convolution"
WINDOW: Final = "stablehlo.reduce_window"
TRAINING: Final = "stablehlo.batch_norm_training"
INFERENCE: Final = "stablehlo.batch_norm_inference"


def convolution(
    form: str = "rows", size: int = 3, step: int = 1, pad: int = 0, element: Element = f32
) -> Plan:
    tape = Tape(element=element)
    image = tape.input(drawn(2, 3, 7, 7, element=element))
    maps, _ = convolved(image, 4, form=form, size=size, step=step, pad=pad)
    return tape.into_network().entry([maps.symbol]).lower()


def pool(size: int, step: int) -> Plan:
    tape = Tape()
    result = pooled(tape.input(drawn(2, 3, 7, 7)), size, step)
    return tape.into_network().entry([result.symbol]).lower()


def training_step() -> Plan:
    tape = Tape()
    image = tape.input(drawn(2, 1, 8, 8))
    first, weights = convolved(image, 3, pad=1)
    second, more = convolved(pooled(relu(first)), 2, form="stack", seed=7)
    loss = mean(second * second)
    adjoints = tape.differentiate(loss, [*weights, *more, image])
    return tape.into_network().entry([loss.symbol, *adjoints.roots()]).lower()


def strided_step(extent: int = 8, size: int = 3, step: int = 2, pad: int = 0) -> Plan:
    """Windows that leave the last row and column of the image out, or all of it."""
    tape = Tape()
    image = tape.input(drawn(2, 2, extent, extent))
    maps, weights = convolved(image, 3, size=size, step=step, pad=pad)
    loss = mean(maps * maps)
    adjoints = tape.differentiate(loss, weights)
    return tape.into_network().entry([loss.symbol, *adjoints.roots()]).lower()


def training(axes: tuple[int, ...] = (0, 2), element: Element = f32) -> Plan:
    tape = Tape(element=element)
    value = tape.input(drawn(4, 3, 5, element=element))
    results = [each.symbol for each in normalized(value, axes)]
    return tape.into_network().entry(results).lower()


def inference() -> Plan:
    tape = Tape()
    value = tape.input(drawn(4, 3))
    statistics = (tape.input(drawn(3, seed=3)), tape.input(drawn(3, seed=4) ** 2))
    result, *_ = normalized(value, (0,), statistics)
    return tape.into_network().entry([result.symbol]).lower()


CASES: Final[dict[str, tuple[Callable[[], Plan], dict[str, int]]]] = {
    "rows": (convolution, {CONVOLUTION: 1, "transpose": 0}),
    "stack": (lambda: convolution("stack", pad=1), {CONVOLUTION: 1, "reshape": 0}),
    "columns": (lambda: convolution("columns", step=2, pad=2), {CONVOLUTION: 1, "transpose": 0}),
    "late": (lambda: convolution("late", size=2, step=2), {CONVOLUTION: 1, "concatenate": 0}),
    "wide": (lambda: convolution(element=f64), {CONVOLUTION: 1}),
    "narrow": (lambda: convolution(element=bf16), {CONVOLUTION: 1}),
    "pool": (lambda: pool(2, 2), {WINDOW: 1, "concatenate": 0}),
    "overlapping": (lambda: pool(3, 2), {WINDOW: 1}),
    "step": (training_step, {CONVOLUTION: 4}),
    "strided_step": (strided_step, {CONVOLUTION: 2}),
    "outside": (
        lambda: strided_step(2, size=1, step=9, pad=1),
        {CONVOLUTION: 2, "stablehlo.pad": 1},
    ),
    "training": (training, {TRAINING: 1, "divide": 0}),
    "training_rows": (lambda: training((1, 2)), {TRAINING: 1}),
    "training_wide": (lambda: training(element=f64), {TRAINING: 1}),
    "inference": (inference, {INFERENCE: 1, "sqrt": 0}),
}
# A module of iree takes most of a second.
FOREIGN: Final = [
    *(("xla", name) for name in CASES),
    *(("iree", name) for name in ("overlapping", "step", "training_wide")),
    *(("reference", name) for name in ("pool", "training")),
]


@pytest.mark.parametrize("name", CASES)
def test_a_pattern_is_written_as_its_operation(name: str) -> None:
    program, counts = CASES[name]
    text = program().emit_stablehlo()
    assert {word: text.count(word) for word in counts} == counts


@pytest.mark.parametrize("name", CASES)
def test_a_raised_module_has_the_oracles_bits_in_the_interpreter(name: str) -> None:
    assert has_oracle_bits(CASES[name][0](), "interpreter", "exact")


@pytest.mark.parametrize(("runtime", "name"), FOREIGN)
def test_a_raised_module_stays_near_the_oracle_elsewhere(runtime: str, name: str) -> None:
    require(runtime)
    plan = CASES[name][0]()
    demand_near(plan, plan.compile(runtime).forward())


def test_an_exact_convolution_of_f32_asks_for_every_bit() -> None:
    tape = Tape()
    maps, _ = convolved(tape.input(drawn(2, 3, 7, 7)), 4)
    entry = tape.into_network().entry([maps.symbol], numerics=Numerics.EXACT)
    text = entry.lower().emit_stablehlo()
    assert text.count("precision HIGHEST") == 2
    assert "precision" not in convolution().emit_stablehlo()


@pytest.mark.parametrize("posture", [False, True])
def test_a_module_holds_nothing_for_a_backward_and_raises_in_either_posture(posture: bool) -> None:
    tape = Tape()
    result = pooled(tape.input(drawn(1, 1, 4, 4))).sum()
    plan = tape.into_network().entry([result.symbol], backward=posture).lower()
    assert plan.emit_stablehlo().count(WINDOW) == 1


def test_an_observed_interior_is_written_and_not_raised() -> None:
    tape = Tape()
    windows = tape.input(drawn(1, 1, 4, 4)).unfold(2, 2, 2).unfold(3, 2, 2)
    roots, observed = [windows.max((4, 5)).symbol], [windows.symbol]
    plan = tape.into_network().entry(roots, observe=observed).lower()
    assert WINDOW not in plan.emit_stablehlo()


def test_an_epsilon_that_f32_cannot_hold_is_not_raised_in_f64() -> None:
    texts = []
    for epsilon in (0.125, 0.1):
        tape = Tape(element=f64)
        value = tape.input(drawn(4, 3, element=f64))
        scale, shift = tape.parameter(drawn(3, element=f64)), tape.parameter([0.0, 1.0, 2.0])
        deviation = (variance(value, 0) + epsilon).sqrt().broadcast_along([0], [4])
        standard = (value - mean(value, 0).broadcast_along([0], [4])) / deviation
        affine = standard * scale.broadcast_along([0], [4]) + shift.broadcast_along([0], [4])
        texts.append(tape.into_network().entry([affine.symbol]).lower().emit_stablehlo())
    assert [text.count(TRAINING) for text in texts] == [1, 0]


def test_a_gradient_of_weights_over_no_images_is_written_node_by_node() -> None:
    tape = Tape()
    image = tape.input(drawn(0, 2, 5, 5))
    maps, weights = convolved(image, 3)
    adjoints = tape.differentiate(maps.sum(), weights)
    plan = tape.into_network().entry(list(adjoints.roots())).lower()
    assert CONVOLUTION not in plan.emit_stablehlo()
    assert has_oracle_bits(plan, "interpreter", "exact")


def test_a_location_follows_a_raised_operation() -> None:
    tape = Tape(locations=True)
    result = pooled(tape.input(drawn(2, 3, 4, 4)))
    maps, _ = convolved(tape.input(drawn(2, 3, 4, 4)), 2)
    plan = tape.into_network().entry([result.symbol, maps.symbol]).lower()
    lines = plan.emit_stablehlo().splitlines()
    (first,) = (line for line in lines if CONVOLUTION in line)
    (last,) = (line for line in lines if line.startswith("    }) : "))
    assert all('recordings.py":' in line for line in (first, last))
    assert has_oracle_bits(plan, "interpreter", "exact")
    require("xla")
    assert judge.grade(plan, "xla").passed
