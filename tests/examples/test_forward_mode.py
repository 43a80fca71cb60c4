"""Forward mode covers the vocabulary, and its tangents are those of reverse mode."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from examples.forward_mode import Dual, DualError, jvp, replayed, surprise, tangent
from tests.examples.commands import command
from tests.sample import Sample
from tests.samples import CASES, SAMPLES, title
from topos import Tape, Tensor, ToposError, Value, f64, i32
from topos.compiler import DIFFERENTIABLE, OPERATIONS, Element

FLOAT_CASES = [case for case in CASES if case[1] in DIFFERENTIABLE]
WIDE = [sample for sample in SAMPLES if f64 in sample.elements]
SMOOTH = [sample for sample in WIDE if not sample.name.startswith(("compare", "convert", "step"))]


def drawn(shape: Sequence[int], element: Element, seed: int) -> Tensor:
    """Returns numbers between -1 and 1."""
    numbers = Tensor(np.random.default_rng(seed).uniform(-1, 1, tuple(shape)))
    return numbers.convert(element)


def point(sample: Sample, element: Element) -> tuple[list[Tensor], list[Tensor | None]]:
    """Returns the operands of a sample and a direction, which leaves the data where it is."""
    primals = [draw.payload(element) for draw in sample.draws]
    tangents = [
        None if draw.is_data else drawn(primal.shape, element, seed)
        for seed, (draw, primal) in enumerate(zip(sample.draws, primals, strict=True))
    ]
    return primals, tangents


def test_every_operation_but_the_sources_has_a_rule() -> None:
    assert tangent.missing(OPERATIONS) == [kind for kind in OPERATIONS if kind.arity == 0]


@pytest.mark.parametrize("sample", SMOOTH, ids=title)
def test_tangent_is_the_slope_along_the_direction(sample: Sample) -> None:
    primals, tangents = point(sample, f64)
    _, own = jvp(sample.express, primals, tangents)
    width = 1e-6
    ends = [
        sample.express(
            *(
                primal if along is None else primal + along * side
                for primal, along in zip(primals, tangents, strict=True)
            )
        ).numpy()
        for side in (-width, width)
    ]
    np.testing.assert_allclose(own.numpy(), (ends[1] - ends[0]) / (2 * width), 1e-6, 1e-8)


@pytest.mark.parametrize("sample", WIDE, ids=title)
def test_tangent_and_gradient_satisfy_the_inner_product_identity(sample: Sample) -> None:
    primals, tangents = point(sample, f64)
    primal, own = jvp(sample.express, primals, tangents)
    if primal.element is not f64:
        primal, own = primal.convert(f64), own.convert(f64)
    cotangent = drawn(primal.shape, f64, 11)

    tape = Tape(element=f64)
    result, operands = sample.record(tape, f64)
    loss = (result.convert(f64) * tape.leaf(cotangent)).sum()
    pairs = [
        (operand.symbol, along)
        for operand, along in zip(operands, tangents, strict=True)
        if along is not None
    ]
    target = loss.symbol
    gradients = tape.into_network().forward().backward(target)
    forward = (cotangent * own).sum().item()
    terms = [(gradients.of(symbol) * along).numpy() for symbol, along in pairs]
    backward = sum(float(term.sum()) for term in terms)
    scale = sum(float(np.abs(term).sum()) for term in terms)
    # Convert rounds its tangent as it rounds its value: half a unit of the narrowest, bfloat16.
    bound = 2**-8 if sample.name in ("convert_to_bf16", "convert_to_f16") else 1e-13
    bound = 2**-23 if sample.name == "convert_to_f32" else bound
    assert abs(forward - backward) <= bound * scale


@pytest.mark.parametrize(("sample", "element"), FLOAT_CASES, ids=title)
def test_recorded_tangent_has_the_bits_of_the_computed_one(
    sample: Sample, element: Element
) -> None:
    primals, tangents = point(sample, element)
    computed = jvp(sample.express, primals, tangents)
    tape = Tape(element=element)
    recorded = jvp(
        sample.express,
        [tape.parameter(primal) for primal in primals],
        [None if along is None else tape.parameter(along) for along in tangents],
    )
    symbols = [value.symbol for value in recorded]
    plan = tape.into_network().entry(symbols).lower()
    run = plan.compile("interpreter", numerics="exact").forward()
    for symbol, ours in zip(symbols, computed, strict=True):
        assert run.of(symbol).type == ours.type
        assert run.of(symbol).numpy().tobytes() == ours.numpy().tobytes()


def test_constants_record_no_tangents() -> None:
    def nodes(values: Sequence[Value | Dual[Value]], tape: Tape) -> int:
        surprise(*values)
        return len(list(tape.into_network().nodes()))

    plain, dual = Tape(element=f64), Tape(element=f64)
    shapes = [(4, 3), (9, 4), (9, 3)]
    bare = nodes([plain.input(shape=shape) for shape in shapes], plain)
    assert nodes([Dual(dual.input(shape=shape)) for shape in shapes], dual) == bare


def test_duals_of_duals_are_second_derivatives() -> None:
    x, one = Tensor([0.3, -1.2, 2.0], f64), Tensor([1.0, 1.0, 1.0], f64)
    inner = Dual(x, one)
    outer = Dual(inner, Dual(one)).tanh()
    assert outer.tangent is not None
    second = outer.tangent.tangent
    assert second is not None
    y = np.tanh(x.numpy())
    np.testing.assert_allclose(second.numpy(), -2 * y * (1 - y * y), rtol=1e-13)


def test_hessian_products_agree_and_the_hessian_is_symmetric() -> None:
    tape = Tape(element=f64)
    weights = tape.parameter(drawn((4, 3), f64, 0))
    irises, species = tape.leaf(drawn((9, 4), f64, 1)), tape.leaf(drawn((9, 3), f64, 2))
    left, right = drawn((4, 3), f64, 3), drawn((4, 3), f64, 4)
    first = tape.differentiate(surprise(weights, irises, species), [weights])
    descent = (tape.value(first.of(weights)) * tape.leaf(left)).sum()
    second = tape.differentiate(descent, [weights])
    gradient, product = first.of(weights), second.of(weights)
    at = weights.symbol
    network = tape.into_network()

    twice_reversed = network.forward().of(product)
    along_left = replayed(network, gradient, {at: left}).tangent
    along_right = replayed(network, gradient, {at: right}).tangent
    assert along_left is not None
    assert along_right is not None
    np.testing.assert_allclose(along_left.numpy(), twice_reversed.numpy(), 1e-12, 1e-15)
    crossed = (along_left * right).sum().item(), (along_right * left).sum().item()
    assert crossed[0] == pytest.approx(crossed[1], rel=1e-12)


@pytest.mark.parametrize("misfit", [drawn((2,), f64, 0), drawn((3,), DIFFERENTIABLE[1], 0)])
def test_a_tangent_that_does_not_fit_is_refused(misfit: Tensor) -> None:
    with pytest.raises(DualError, match="a tangent needs a floating primal of its type"):
        Dual(drawn((3,), f64, 1), misfit)


def test_an_integer_has_no_tangent() -> None:
    index = Tensor(np.arange(3, dtype=np.int32))
    with pytest.raises(ToposError, match="floating primal"):
        Dual(index, index)
    assert jvp(lambda x: x.convert(i32), [drawn((3,), f64, 0)], [drawn((3,), f64, 1)])[1].type == (
        (3,),
        i32,
    )


def test_the_example_prints_its_slopes(tmp_path: Path) -> None:
    done = command("forward_mode.py", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    computed, recorded, emitted, reverse = re.findall(r"^  (0\.\d{17})  ", done.stdout, re.M)
    assert computed == recorded == emitted
    assert float(reverse) == pytest.approx(float(computed), rel=1e-14)
