"""The two spellings of a schedule: NaNs fed, held and arising midway give the oracle's bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.exact import same, same_runs
from tests.sample import Sample
from tests.samples import CASES, title
from topos import Element, Network, Symbol, Tape, Tensor, Value, bool_
from topos.compiler import DIFFERENTIABLE

INF, NAN = math.inf, math.nan

# What an operand of [[0, inf], [-1, 1]] must go through for a NaN to arise.
ARISING: dict[str, Callable[[Value], Value]] = {
    "zero_over_zero": lambda x: (
        (x.minimum(0.0) - x.minimum(0.0)) / (x.minimum(0.0) - x.minimum(0.0))
    ),
    "infinity_less_infinity": lambda x: x - x,
    "infinity_plus_its_negation": lambda x: x + -x,
    "infinity_times_zero": lambda x: x * 0.0,
    "zero_times_infinity": lambda x: x.fill(INF) * x,
    "infinity_over_infinity": lambda x: x / INF,
    "negative_power": lambda x: x**0.5,
    "sqrt": lambda x: x.sqrt(),
    "rsqrt": lambda x: x.rsqrt(),
    "ln": lambda x: (x - 1.0).ln(),
    "log1p": lambda x: (x - 1.0).log1p(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "exp_of_a_nan": lambda x: (x - x).exp(),
    "tanh_of_a_nan": lambda x: (x - x).tanh(),
    "matmul": lambda x: x @ x,
    "sum": lambda x: x.concatenate([-x], 0).sum(0),
    "sum_of_all": lambda x: x.concatenate([-x], 0).sum(),
    "fold": lambda x: x.concatenate([-x], 1).unfold(1, 2, 1).fold(1, 1, 4) * 0.0,
    "scatter": lambda x: x.concatenate([-x], 0).scatter(x.tape.leaf(np.zeros(4, np.int32)), 0, 1),
    "log_softmax": lambda x: x.log_softmax(1),
    "log_sum_exp": lambda x: (x - x).log_sum_exp(1),
    "maximum_of_a_nan": lambda x: (x - x).maximum(1.0),
    "minimum_of_a_nan": lambda x: (x * 0.0).minimum(x),
    "max_of_a_nan": lambda x: (x - x).max(1),
    "negated": lambda x: -(x - x),
    "negated_twice": lambda x: (x - x).__neg__().__neg__(),
    "negated_and_moved": lambda x: (-(x - x)).transpose().pad((1, 0), (0, 1)),
    "converted": lambda x: (-(x - x)).convert(bool_).convert(x.element) + (x - x),
    "compared": lambda x: (x - x).equal(x - x).convert(x.element) * x,
    "stepped": lambda x: (x - x).step(0.0),
    "selected_away": lambda x: x.less(5.0).select(x, x - x) - x.less(5.0).select(x - x, x),
    "selected": lambda x: x.less(5.0).select(x, -(x - x)),
    "gathered": lambda x: (-(x - x)).gather(x.tape.leaf(np.zeros(1, np.int32)), 0),
    "broadcast": lambda x: (x - x).sum().broadcast((2, 2)) * x,
}


def network_of(formula: Callable[[Value], Value], element: Element) -> tuple[Network, Symbol]:
    tape = Tape(element=element)
    x = tape.input(shape=(2, 2), name="x")
    result = formula(x).symbol
    return tape.into_network(), result


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
@pytest.mark.parametrize("formula", ARISING.values(), ids=ARISING)
def test_a_nan_has_the_bits_of_the_oracle(
    formula: Callable[[Value], Value], element: Element
) -> None:
    network, result = network_of(formula, element)
    entry = network.entry([result], numerics="exact")
    every = network.entry([node.symbol for node in network.nodes()], numerics="exact")
    plan, whole = entry.lower(), every.lower()
    # The ordinary numbers, of which no NaN arises, stand between those that start a run over.
    for corner in (
        [[0.0, INF], [-1.0, 1.0]],
        [[1.5, 2.0], [3.0, 1.0]],
        [[NAN, INF], [-1.0, 1.0]],
        [[-0.0, INF], [-1.0, 1.0]],
    ):
        feeds = {network.symbol("x"): Tensor(corner, element)}
        oracle = every.interpret(None, feeds)
        assert same(plan.forward(None, feeds).of(result), oracle.of(result))
        assert same_runs(whole.forward(None, feeds), oracle)


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
@pytest.mark.parametrize("formula", ARISING.values(), ids=ARISING)
def test_a_nan_that_arose_is_computed_with_as_the_oracle_does(
    formula: Callable[[Value], Value], element: Element
) -> None:
    # A negated NaN has its sign set, and a computing operation clears it again.
    followed: list[Callable[[Value], Value]] = [
        lambda x: -formula(x) + 1.0,
        lambda x: -formula(x) * 2.0,
        lambda x: 1.0 / -formula(x),
        lambda x: formula(x) - -formula(x),
    ]
    for program in followed:
        network, result = network_of(program, element)
        feeds = {network.symbol("x"): Tensor([[0.0, INF], [-1.0, 1.0]], element)}
        entry = network.entry([result], numerics="exact")
        assert same_runs(entry.lower().forward(None, feeds), entry.interpret(None, feeds))


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_a_nan_of_any_payload_is_moved_and_not_computed_with(element: Element) -> None:
    nans = np.full((2, 2), -1, f"i{element.dtype.itemsize}").view(element.dtype)
    network, result = network_of(lambda x: (-x).transpose(), element)
    run = network.entry([result], numerics="exact").lower().forward(None, {"x": nans})
    sign = 1 << (8 * element.dtype.itemsize - 1)
    unsigned = f"u{element.dtype.itemsize}"
    assert (run.of(result).numpy().view(unsigned) ^ nans.view(unsigned) == sign).all()
    computed, total = network_of(lambda x: x + 1.0, element)
    entry = computed.entry([total], numerics="exact")
    assert same_runs(entry.lower().forward(None, {"x": nans}), entry.interpret(None, {"x": nans}))


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_a_nan_among_the_constants_or_parameters_is_seen(element: Element) -> None:
    tape = Tape(element=element)
    x = tape.input(1.0)
    w, constant = tape.parameter([NAN, 1.0]), tape.leaf([1.0, -NAN])
    results = [(w * constant).symbol, (-(w + constant)).symbol, (x * NAN).symbol]
    entry = tape.into_network().entry(results, numerics="exact")
    assert same_runs(entry.lower().forward(), entry.interpret())


@pytest.mark.parametrize(("sample", "element"), CASES, ids=title)
def test_every_sample_has_the_bits_of_the_oracle(sample: Sample, element: Element) -> None:
    tape = Tape(element=element)
    result, _ = sample.record(tape, element)
    entry = tape.into_network().entry([result.symbol], numerics="exact")
    assert same_runs(entry.lower().forward(), entry.interpret())


def test_a_run_without_nans_takes_the_clean_steps_and_a_nan_the_careful_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network, result = network_of(lambda x: (x - 1.0) / (x - 1.0), DIFFERENTIABLE[1])
    plan = network.entry([result], numerics="exact").lower()
    taken: list[Any] = []
    program, carefully = plan._schedule._function, plan._schedule._carefully

    def clean(*arguments: Any) -> Any:
        taken.append("clean")
        return program(*arguments)

    def careful(*arguments: Any) -> Any:
        taken.append("careful")
        return carefully(*arguments)

    monkeypatch.setattr(plan._schedule, "_function", clean)
    monkeypatch.setattr(plan._schedule, "_carefully", careful)
    for number, wanted in [(3.0, ["clean"]), (1.0, ["clean", "careful"]), (NAN, ["careful"])]:
        taken.clear()
        feed = Tensor(np.full((2, 2), number, np.float32))
        run = plan.forward(None, {"x": feed})
        assert taken == wanted
        assert same(run.of(result), (feed - 1.0) / (feed - 1.0))


def test_the_state_of_numpy_neither_changes_results_nor_is_changed() -> None:
    network, result = network_of(lambda x: (x - x) / (x - x), DIFFERENTIABLE[0])
    plan = network.entry([result], numerics="exact").lower()
    calm = plan.forward(None, {"x": [[0.0, 1.0], [2.0, INF]]})
    for mode in ("ignore", "raise", "warn"):
        with np.errstate(all=mode):
            before = np.geterr()
            run = plan.forward(None, {"x": [[0.0, 1.0], [2.0, INF]]})
            assert np.geterr() == before
        assert same_runs(run, calm)
