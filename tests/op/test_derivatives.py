"""Every derivative rule: recorded equals engine to the bit, and both are derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sample import Sample
from tests.samples import CASES, SAMPLES, title
from topos import Network, Run, Symbol, Tape, Tensor, Value, f64
from topos.compiler import DIFFERENTIABLE, Element

FLOAT_CASES = [
    (sample, element)
    for sample, element in CASES
    if element in DIFFERENTIABLE and not sample.name.startswith("convert_to_i")
]
SMOOTH = [
    sample
    for sample in SAMPLES
    if f64 in sample.elements and not sample.name.startswith(("compare", "convert", "step"))
]


def weighted(value: Value) -> Value:
    """Returns a rank-0 value that weighs every element of `value` differently."""
    count = int(np.prod(value.shape))
    weights = (np.arange(count) % 7 / 4 - 0.6).reshape(value.shape)
    leaf = value.tape.leaf(Tensor(weights).numpy(), element=f64)
    return (value * leaf.convert(value.element)).sum()


def record(sample: Sample, element: Element) -> tuple[Network, Symbol, list[Symbol], Any]:
    """Records a weighted sum of the sample's result and its recorded gradients."""
    tape = Tape(element=element)
    result, operands = sample.record(tape, element)
    if not result.element.differentiable:
        result = result.convert(element)
    wrt = [o for o, draw in zip(operands, sample.draws, strict=True) if not draw.is_data]
    loss = weighted(result)
    adjoints = tape.differentiate(loss, wrt)
    names = [operand.symbol for operand in wrt]
    return tape.into_network(), loss.symbol, names, adjoints


@pytest.mark.parametrize(("sample", "element"), FLOAT_CASES, ids=title)
def test_recorded_gradient_equals_engine_scan(sample: Sample, element: Element) -> None:
    network, loss, wrt, adjoints = record(sample, element)
    oracle = network.forward().backward(loss)
    run = network.entry([loss, *adjoints.roots()]).interpret()
    for symbol in wrt:
        recorded, scanned = run.of(adjoints.of(symbol)), oracle.of(symbol)
        assert recorded.type == scanned.type
        assert recorded.numpy().tobytes() == scanned.numpy().tobytes()


@pytest.mark.parametrize(("sample", "element"), FLOAT_CASES, ids=title)
def test_backward_posture_retains_all_that_the_rules_read(sample: Sample, element: Element) -> None:
    network, loss, wrt, _ = record(sample, element)
    oracle = network.forward().backward(loss)
    run: Run = network.entry([loss], backward=True, numerics="exact").lower().forward()
    scanned = run.backward(loss)
    for symbol in wrt:
        assert scanned.of(symbol).numpy().tobytes() == oracle.of(symbol).numpy().tobytes()


@pytest.mark.parametrize("sample", SMOOTH, ids=title)
def test_gradient_is_the_slope_of_the_value(sample: Sample) -> None:
    network, loss, wrt, _ = record(sample, f64)
    parameters = network.parameters()
    gradients = network.forward().backward(loss)
    for symbol in wrt:
        point = parameters.of(symbol).numpy()
        for position in np.ndindex(point.shape):
            width = 1e-6
            ends = []
            for side in (-width, width):
                moved = point.copy()
                moved[position] += side
                state = parameters.with_payloads({symbol: Tensor(moved)})
                ends.append(float(network.forward(state).of(loss)))
            slope = (ends[1] - ends[0]) / (2 * width)
            assert float(gradients.of(symbol).numpy()[position]) == pytest.approx(
                slope, rel=1e-6, abs=1e-7
            )


@pytest.mark.parametrize("sample", SMOOTH, ids=title)
def test_gradient_agrees_with_jax(sample: Sample) -> None:
    jax = pytest.importorskip("jax")
    network, loss, wrt, _ = record(sample, f64)
    payloads = [draw.payload(f64).numpy() for draw in sample.draws]
    places = [place for place, draw in enumerate(sample.draws) if not draw.is_data]

    def weigh(*arrays: Any) -> Any:
        result = sample.jax(*arrays)
        weights = (np.arange(result.size) % 7 / 4 - 0.6).reshape(result.shape)
        return (result * weights).sum()

    with jax.enable_x64(True):
        theirs = jax.grad(weigh, argnums=tuple(places))(*payloads)
    ours = network.forward().backward(loss)
    for symbol, gradient in zip(wrt, theirs, strict=True):
        np.testing.assert_allclose(ours.of(symbol).numpy(), gradient, rtol=1e-12, atol=1e-13)
