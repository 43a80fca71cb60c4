"""Every derivative rule: recorded equals engine to the bit, and both are derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exact import same
from tests.sample import Sample
from tests.samples import CASES, SAMPLES, title
from topos import Network, Symbol, Tape, Tensor, Value, f64
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
def test_recorded_gradient_equals_the_scans_of_the_oracle_and_of_a_plan(
    sample: Sample, element: Element
) -> None:
    network, loss, wrt, adjoints = record(sample, element)
    run = network.entry([loss, *adjoints.roots()]).interpret()
    oracle = network.forward().backward(loss)
    # The plan keeps no more than what the rules say that they read.
    kept = network.entry([loss], backward=True, numerics="exact").lower().forward()
    scanned = kept.backward(loss)
    for symbol in wrt:
        assert same(run.of(adjoints.of(symbol)), oracle.of(symbol))
        assert same(scanned.of(symbol), oracle.of(symbol))


@pytest.mark.parametrize("sample", SMOOTH, ids=title)
def test_gradient_is_the_slope_of_the_value(sample: Sample) -> None:
    network, loss, wrt, _ = record(sample, f64)
    parameters = network.parameters()
    gradients = network.forward().backward(loss)
    width = 1e-6
    for symbol in wrt:
        point = parameters.of(symbol).numpy()
        # Along a direction of unlike parts, so that every part of the gradient counts.
        direction = np.random.default_rng(7).uniform(0.5, 2.0, point.shape)
        ends = []
        for side in (-width, width):
            state = parameters.with_payloads({symbol: Tensor(point + side * direction)})
            ends.append(float(network.forward(state).of(loss)))
        slope = (gradients.of(symbol).numpy() * direction).sum()
        assert slope == pytest.approx((ends[1] - ends[0]) / (2 * width), rel=1e-6, abs=1e-7)


def test_gradients_agree_with_jax() -> None:
    jax = pytest.importorskip("jax")
    moving, fixed = (
        {
            sample.name: {
                place: draw.payload(f64).numpy()
                for place, draw in enumerate(sample.draws)
                if draw.is_data is data
            }
            for sample in SMOOTH
        }
        for data in (False, True)
    )

    def weigh(moving: Any) -> Any:
        total = 0.0
        for sample in SMOOTH:
            arrays = moving[sample.name] | fixed[sample.name]
            result = sample.jax(*(arrays[place] for place in sorted(arrays)))
            weights = (np.arange(result.size) % 7 / 4 - 0.6).reshape(result.shape)
            total += (result * weights).sum()
        return total

    with jax.enable_x64(True):
        # One module for all samples takes a fifth of the time that one for each does.
        theirs = jax.jit(jax.grad(weigh))(moving)
    for sample in SMOOTH:
        network, loss, wrt, _ = record(sample, f64)
        ours = network.forward().backward(loss)
        for symbol, place in zip(wrt, moving[sample.name], strict=True):
            wanted = theirs[sample.name][place]
            np.testing.assert_allclose(
                ours.of(symbol).numpy(), wanted, rtol=1e-12, atol=1e-13, err_msg=sample.name
            )
