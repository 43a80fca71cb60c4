"""Fast plans: near the oracle, the same postures in one process, and tensors that scan alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.engine.catalog.recordings import drawn, normalized
from tests.exact import same, same_runs
from tests.sample import Sample
from tests.samples import CASES, title
from topos import Element, Network, Numerics, Symbol, Tape, Tensor, f32, f64, relu
from topos.backend import BatchNormTask, Function, Normalized

# Sums in another order and maps within a few units, of samples whose terms are of order one.
TOLERANCE = {f64: 1e-12, f32: 2e-5}


def near(got: Tensor, wanted: Tensor, element: Element) -> bool:
    """Returns whether floats are close, and everything else equal."""
    assert got.type == wanted.type
    left, right = (np.asarray(tensor.numpy()) for tensor in (got, wanted))
    if not got.element.differentiable:
        return bool((left == right).all())
    tolerance = TOLERANCE.get(element, 2e-2)
    wide = left.astype(np.float64), right.astype(np.float64)
    return bool(np.allclose(*wide, rtol=tolerance, atol=tolerance, equal_nan=True))


def classifier(rows: int) -> tuple[Network, Symbol, list[Symbol], list[Symbol]]:
    """Records a classifier: its loss, its parameters, and the parameters after a step."""
    random = np.random.default_rng(3)
    tape = Tape()
    shapes = [(100, 300), (300,), (300, 7), (7,)]
    parameters = [tape.parameter(random.standard_normal(s).astype(np.float32)) for s in shapes]
    weight, bias, last, offset = parameters
    x = tape.input(random.standard_normal((rows, 100)).astype(np.float32), name="x")
    hidden = relu(x @ weight + bias.broadcast_along([0], [rows]))
    logits = hidden @ last + offset.broadcast_along([0], [rows])
    loss = -(logits.log_softmax(1).narrow(1, 2, 1)).sum() / float(rows)
    adjoints = tape.differentiate(loss, parameters)
    gradients = [tape.value(adjoints.of(own)) for own in parameters]
    stepped = [own - slope * 0.1 for own, slope in zip(parameters, gradients, strict=True)]
    symbols = [own.symbol for own in parameters], [new.symbol for new in stepped]
    return tape.into_network(), loss.symbol, *symbols


@pytest.mark.parametrize(("sample", "element"), CASES, ids=title)
def test_every_sample_is_near_the_oracle(sample: Sample, element: Element) -> None:
    tape = Tape(element=element)
    result, _ = sample.record(tape, element)
    entry = tape.into_network().entry([result.symbol], numerics="fast")
    got = entry.lower().forward().of(result.symbol)
    assert near(got, entry.interpret().of(result.symbol), element)


def test_one_process_holds_both_answers_and_they_are_near() -> None:
    network, loss, _, stepped = classifier(32)
    entries = {each: network.entry([loss, *stepped], numerics=each) for each in Numerics}
    fast, exact = (entries[each].lower() for each in (Numerics.FAST, Numerics.EXACT))
    before = exact.forward()
    quick = fast.forward()
    after = exact.forward()
    assert same_runs(before, after)
    assert same_runs(after, entries[Numerics.EXACT].interpret())
    assert all(near(quick.of(symbol), after.of(symbol), f32) for symbol in stepped)
    assert not same_runs(quick, after)


def test_a_scan_computes_as_its_run_did() -> None:
    network, loss, parameters, _ = classifier(32)
    exact, fast = (
        network.entry([loss], backward=True, numerics=each).lower().forward().backward(loss)
        for each in (Numerics.EXACT, Numerics.FAST)
    )
    oracle = network.forward().backward(loss)
    for symbol in parameters:
        assert same(exact.of(symbol), oracle.of(symbol))
        assert near(fast.of(symbol), oracle.of(symbol), f32)
        assert type(fast.of(symbol)) is Tensor
    assert not all(same(fast.of(symbol), oracle.of(symbol)) for symbol in parameters)


@pytest.mark.parametrize("numerics", Numerics)
def test_results_stay_when_the_plan_runs_again(numerics: Numerics) -> None:
    network, loss, parameters, stepped = classifier(64)
    plan = network.entry([loss, *stepped], numerics=numerics).lower()
    state = network.parameters()
    runs, bits = [], []
    for _ in range(6):
        run = plan.forward(state)
        runs.append(run)
        bits.append([run.of(symbol).numpy().tobytes() for symbol in plan.results])
        pairs = zip(parameters, stepped, strict=True)
        state = state.with_payloads({own: run.of(new) for own, new in pairs})
    for run, before in zip(runs, bits, strict=True):
        assert [run.of(symbol).numpy().tobytes() for symbol in plan.results] == before


def test_a_view_of_a_result_keeps_its_memory() -> None:
    network, loss, _, stepped = classifier(64)
    plan = network.entry([loss, *stepped]).lower()
    corner = plan.forward().of(stepped[0]).numpy()[3:5, ::7]
    before = corner.tobytes()
    for number in range(5):
        feeds = {"x": np.full((64, 100), number, np.float32)}
        plan.forward(None, feeds)
    assert corner.tobytes() == before


def test_steady_runs_take_the_memory_of_results_that_nobody_holds() -> None:
    network, loss, _, stepped = classifier(64)
    plan = network.entry([loss, *stepped[:1]]).lower()
    plan.forward()
    addresses = {plan.forward().of(stepped[0]).numpy().ctypes.data for _ in range(9)}
    assert len(addresses) <= 2


@pytest.mark.parametrize("numerics", Numerics)
def test_threads_share_a_plan_and_nothing_else(numerics: Numerics) -> None:
    network, loss, _, stepped = classifier(64)
    plan = network.entry([loss, *stepped], numerics=numerics).lower()
    feeds: list[Any] = [{"x": np.full((64, 100), 0.1 * i, np.float32)} for i in range(4)]
    wanted = [plan.forward(None, each) for each in feeds]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda i: plan.forward(None, feeds[i % 4]), range(16)))
    assert all(same_runs(run, wanted[i % 4]) for i, run in enumerate(runs))


@pytest.mark.parametrize("element", [f32, f64], ids=str)
def test_a_selection_hides_what_it_does_not_choose(element: Element) -> None:
    tape = Tape(element=element)
    x = tape.input(shape=(5,), name="x")
    mask = x.greater(0.0)
    chosen = [mask.select(x, 0.0), mask.select(0.0, x), x.less(0.0).select(x, -x)]
    plan = tape.into_network().entry([each.symbol for each in chosen]).lower()
    fed = np.array([np.inf, -np.inf, np.nan, 2.0, -0.0], element.dtype)
    run = plan.forward(None, {"x": Tensor(fed, element)})
    first, second, third = (run.of(symbol).numpy() for symbol in plan.results)
    assert first.tobytes() == np.array([np.inf, 0, 0, 2.0, 0], element.dtype).tobytes()
    assert second.tobytes() == np.where(fed > 0, element.dtype.type(0), fed).tobytes()
    assert third.tobytes() == np.where(fed < 0, fed, -fed).tobytes()


@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_a_scalar_with_a_constant_stays_a_scalar(name: str) -> None:
    tape = Tape(element=f32)
    count = tape.input(30.0, name="count")
    limited = getattr(count, name)(24.0)
    root = (limited * 2.0).symbol
    network = tape.into_network()
    plan = network.entry([root]).lower()
    for fed in (30.0, 3.0):
        feeds = {"count": np.float32(fed)}
        wanted = network.forward(feeds=feeds).of(root)
        assert same(plan.forward(feeds=feeds).of(root), wanted)


class Marked(Element):
    """An element whose normalization of rows is easy to tell from the recorded one."""

    def batch_norm(self, task: BatchNormTask, exact: bool) -> Function | None:
        def sevens(x: Any, scale: Any, shift: Any) -> Normalized:
            return Normalized(np.full_like(x, 7.0), scale, shift)

        return sevens


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize(
    ("shape", "axes", "is_own"),
    [((6, 3), (0,), True), ((6, 3), (1,), False), ((6, 3, 2), (0, 2), False)],
)
def test_an_element_normalizes_rows_by_its_own_kernel(
    shape: tuple[int, ...], axes: tuple[int, ...], is_own: bool, numerics: Numerics
) -> None:
    tape = Tape(element=Marked("m32", np.float32))
    output, *_ = normalized(tape.input(drawn(*shape), element=tape.element), axes)
    run = tape.into_network().entry([output.symbol], numerics=numerics).lower().forward()
    assert (run.of(output.symbol).numpy() == 7.0).all() == is_own
