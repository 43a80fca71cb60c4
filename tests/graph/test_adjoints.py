"""Recorded gradients: what they are for, what they refuse, and derivatives of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, holds, same
from topos import (
    Adjoints,
    Network,
    Recordable,
    Symbol,
    Tape,
    Tensor,
    Value,
    bf16,
    bool_,
    f32,
    f64,
    i64,
    softmax,
)
from topos.errors import ElementError, ShapeError, SymbolError


def test_a_gradient_stands_for_each_wrt_in_its_order() -> None:
    tape = Tape()
    a, b, c = (tape.parameter(number) for number in (2.0, 3.0, 5.0))
    product = a * b * c
    adjoints = tape.differentiate(product, [c, a, b])
    wrt = (c.symbol, a.symbol, b.symbol)
    assert adjoints.wrt() == wrt
    assert adjoints.roots() == tuple(adjoints.of(symbol) for symbol in wrt)
    assert adjoints.of(a) == adjoints.of(a.symbol)
    run = tape.into_network().entry(adjoints.roots()).interpret()
    for symbol, wanted in zip(adjoints.roots(), (6.0, 15.0, 10.0), strict=True):
        assert holds(run.of(symbol), wanted, f32)


def test_wrt_may_be_values_symbols_names_and_inner_nodes() -> None:
    tape = Tape()
    x = tape.parameter(3.0, name="x")
    y = x * x
    adjoints = tape.differentiate(y * y, ["x", x.symbol, y])
    assert adjoints.wrt() == (x.symbol, x.symbol, y.symbol)
    assert len(adjoints.roots()) == 3
    run = tape.into_network().entry(adjoints.roots()).interpret()
    assert holds(run.of(adjoints.of(x.symbol)), 108.0, f32)
    assert holds(run.of(adjoints.of(y.symbol)), 18.0, f32)


def test_what_the_target_does_not_reach_has_a_gradient_of_zeros() -> None:
    tape = Tape()
    x = tape.parameter(3.0, name="x")
    unused = tape.parameter([[1.0, 2.0]], name="unused")
    short = tape.input(shape=(2,), element=bf16, name="short")
    loss = x * x
    after = loss * 2.0
    adjoints = tape.differentiate(loss, [unused, short, after, x])
    network = tape.into_network()
    run = network.entry(adjoints.roots()).interpret()
    assert holds(run.of(adjoints.of(unused.symbol)), [[0.0, 0.0]], f32)
    assert holds(run.of(adjoints.of(short.symbol)), [0.0, 0.0], bf16)
    assert holds(run.of(adjoints.of(after.symbol)), 0.0, f32)
    assert holds(run.of(adjoints.of(x.symbol)), 6.0, f32)
    scan = network.forward(None, {"short": [1, 1]}).backward(loss.symbol)
    assert holds(scan.of("unused"), [[0.0, 0.0]], f32)
    assert holds(scan.of("short"), [0.0, 0.0], bf16)


def test_the_target_is_its_own_derivative_of_one() -> None:
    tape = Tape()
    x = tape.parameter(3.0, name="x")
    adjoints = tape.differentiate(x, [x])
    network = tape.into_network()
    assert holds(network.entry(adjoints.roots()).interpret().of(adjoints.roots()[0]), 1.0, f32)
    assert holds(network.forward().backward("x").of("x"), 1.0, f32)


def test_nothing_is_recorded_for_what_is_not_asked_about() -> None:
    tape = Tape()
    x, y = tape.parameter(1.0), tape.parameter(2.0)
    chain = y
    for _ in range(50):
        chain = chain.tanh()
    loss = x + chain
    before = len(tape.columns.forms)
    tape.differentiate(loss, [x])
    assert len(tape.columns.forms) - before == 1


def test_a_target_is_one_floating_number() -> None:
    tape = Tape()
    x = tape.parameter([1.0, 2.0], name="x")
    count = tape.leaf(3, element=i64, name="count")
    before = len(tape.columns.forms)
    message = "a gradient needs a rank-0 target, got f32[2] %0 'x'"
    with pytest.raises(ShapeError, match=exactly(message)):
        tape.differentiate(x, [x])
    with pytest.raises(
        ElementError, match=exactly("a gradient needs a floating target, got i64[]")
    ):
        tape.differentiate(count, [x])
    assert len(tape.columns.forms) == before
    run = tape.into_network().forward()
    with pytest.raises(ShapeError, match=exactly(message)):
        run.backward("x")
    with pytest.raises(
        ElementError, match=exactly("a gradient needs a floating target, got i64[]")
    ):
        run.backward("count")


def test_a_gradient_is_for_a_float() -> None:
    tape = Tape()
    x = tape.parameter(1.0)
    mask = tape.input(shape=(), element=bool_, name="mask")
    loss = mask.select(x, x * x)
    before = len(tape.columns.forms)
    with pytest.raises(
        ElementError, match=exactly("differentiate needs floating values, got %1 'mask' of bool")
    ):
        tape.differentiate(loss, [x, mask])
    assert len(tape.columns.forms) == before


def test_only_what_was_differentiated_for_has_a_gradient() -> None:
    tape = Tape()
    x, y = tape.parameter(1.0), tape.parameter(1.0)
    adjoints = tape.differentiate(x * y, [x])
    with pytest.raises(SymbolError, match=exactly("%1 is not among the values differentiated for")):
        adjoints.of(y)
    assert repr(adjoints) == "Adjoints(d/d%0: %4)"
    assert tape.differentiate(x * y, []).roots() == ()


def test_cotangents_accumulate_from_the_last_consumer_to_the_first() -> None:
    tape = Tape()
    x = tape.parameter(1.0, name="x")
    big = 2.0**24
    # The consumers' slopes are big, 1 and -big: last to first the sum is 1, first to last it is 0.
    parts = [x * big, x * -1.0 * -1.0, x * -big]
    loss = (parts[0] + parts[1] + parts[2]).named("loss")
    adjoints = tape.differentiate(loss, [x])
    network = tape.into_network()
    assert holds(network.forward().backward("loss").of("x"), 1.0, f32)
    assert holds(network.entry(adjoints.roots()).interpret().of(adjoints.roots()[0]), 1.0, f32)


POINT = np.array([0.3, -0.7, 1.1, 0.4])
DIRECTION = np.array([0.5, -1.0, 0.25, 2.0])


def smooth(x: Any) -> Any:
    """Returns a number that bends in every direction; `x` has four elements."""
    square = x.reshape((2, 2))
    mixed = (square @ square.tanh()).log_softmax(1)
    return (mixed * mixed).sum() + (x * x * x).exp().sum() + (x.sin() ** 2.0).log_sum_exp(0)


def hessian_vector(tape: Tape, x: Value, direction: Value) -> Adjoints:
    """Records the derivative of the slope of `smooth` along `direction`."""
    slope = tape.differentiate(smooth(x), [x]).of(x)
    return tape.differentiate((tape.value(slope) * direction).sum(), [x])


def recorded_hessian_vector() -> tuple[Network, Symbol]:
    tape = Tape(element=f64)
    x, direction = tape.parameter(POINT, name="x"), tape.leaf(DIRECTION)
    product = hessian_vector(tape, x, direction)
    return tape.into_network(), product.roots()[0]


def test_differentiating_twice_gives_hessian_vector_products() -> None:
    network, product = recorded_hessian_vector()
    ours = network.entry([product]).lower().forward().of(product).numpy()

    def slope(point: Any) -> Any:
        tape = Tape(element=f64)
        x = tape.parameter(point, name="x")
        loss = smooth(x).symbol
        return tape.into_network().forward().backward(loss).of("x").numpy()

    width = 1e-6
    around = (slope(POINT + width * DIRECTION) - slope(POINT - width * DIRECTION)) / (2 * width)
    np.testing.assert_allclose(ours, around, rtol=1e-7)


def test_the_engine_scan_of_a_recorded_gradient_is_the_second_derivative() -> None:
    tape = Tape(element=f64)
    x = tape.parameter(POINT, name="x")
    slope = tape.value(tape.differentiate(smooth(x), [x]).of(x))
    target = (slope * tape.leaf(DIRECTION)).sum()
    twice = tape.differentiate(target, [x])
    network = tape.into_network()
    run = network.entry([target.symbol, *twice.roots()], backward=True).lower().forward()
    assert same(run.backward(target.symbol).of("x"), run.of(twice.roots()[0]))


def test_three_derivatives_of_a_cube_are_its_constants() -> None:
    tape = Tape(element=f64)
    x = tape.parameter(2.0, name="x")
    value, roots = x * x * x, []
    for _ in range(3):
        value = tape.value(tape.differentiate(value, [x]).of(x))
        roots.append(value.symbol)
    run = tape.into_network().entry(roots).lower().forward()
    assert [float(run.of(root)) for root in roots] == [12.0, 12.0, 6.0]


@pytest.mark.parametrize("formula", [lambda x: x.sqrt(), lambda x: x.ln(), lambda x: x**0.5])
def test_an_infinite_slope_is_recorded_as_it_is(formula: Callable[[Any], Recordable]) -> None:
    tape = Tape()
    x = tape.parameter(0.0, name="x")
    loss: Any = formula(x)
    adjoints = tape.differentiate(loss, [x])
    network = tape.into_network()
    run = network.entry([loss.symbol, *adjoints.roots()]).lower().forward()
    assert same(network.forward().backward(loss.symbol).of("x"), run.of(adjoints.roots()[0]))
    assert holds(run.of(adjoints.roots()[0]), np.inf, f32)


def test_the_gradient_of_a_softmax_sums_to_zero() -> None:
    tape = Tape(element=f64)
    x = tape.parameter([1.0, 2.0, 4.0], name="x")
    softmax(x, 0).narrow(0, 1, 1).sum().named("loss")
    gradient = tape.into_network().forward().backward("loss").of("x")
    assert abs(float(Tensor(gradient).sum())) < 1e-16


def test_a_shared_literal_is_not_named_after_a_gradient() -> None:
    tape = Tape()
    x, y = tape.parameter(1.0, name="x"), tape.parameter(1.0, name="y")
    tape.differentiate((x + y).named("loss"), [x, y])
    assert not [name for name in tape.columns.names if name.startswith("d")]


def test_a_gradient_of_named_values_has_the_first_name_it_is_given() -> None:
    tape = Tape()
    w, v, other = tape.parameter([1.0], name="w"), tape.parameter([2.0], name="v"), tape.leaf([3.0])
    loss = (w + v).tanh().sum().named("loss")
    # One node is the gradient for both.
    adjoints = tape.differentiate(loss, [w, v, other + w])
    network = tape.into_network()
    assert network.symbol("dloss/dw") == adjoints.of(w.symbol) == adjoints.of(v.symbol)
    assert "dloss/dv" not in network.columns.names
