"""Runs of a plan: the same to the bit in any thread, and results that nothing else writes to."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.engine.plan_networks import two_branches
from tests.exact import holds, same, same_runs
from topos import Run, Tape, Tensor, f32


def test_runs_repeat_to_the_bit_in_one_thread_and_in_eight() -> None:
    tape = Tape()
    w = tape.parameter(np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8), name="w")
    x = tape.input(shape=(8, 8), name="x")
    loss = ((w @ x).tanh() @ w).log_softmax(1).sum()
    adjoints = tape.differentiate(loss, [w])
    network = tape.into_network()
    plan = network.entry([loss.symbol, *adjoints.roots()], backward=True, numerics="exact").lower()
    feeds = [np.full((8, 8), number, np.float32) for number in (0.1, np.nan, -2.0, np.inf)]

    def run(number: int) -> Run:
        return plan.forward(None, {"x": feeds[number % 4]})

    def scan(number: int) -> Tensor:
        return run(number).backward(loss.symbol).of("w")

    wanted = [run(number) for number in range(4)]
    slopes = [scan(number) for number in range(4)]
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(run, range(16)))
        scans = list(pool.map(scan, range(16)))
    assert all(same_runs(got, wanted[number % 4]) for number, got in enumerate(runs))
    assert all(same(got, slopes[number % 4]) for number, got in enumerate(scans))


def test_a_plan_lowered_in_one_thread_runs_in_others_at_once() -> None:
    network, names = two_branches()
    wanted = network.entry([names["near"]], numerics="exact").interpret(None, {"x": [1, 2]})
    for _ in range(20):
        plan = network.entry([names["near"]], numerics="exact").lower()
        with ThreadPoolExecutor(4) as pool:
            runs = pool.map(lambda _, plan=plan: plan.forward(None, {"x": [1, 2]}), range(4))
            assert all(same_runs(run, wanted) for run in runs)


def test_a_pickled_plan_runs_alike() -> None:
    network, names = two_branches()
    plan = network.entry([names["near"]], observe=["hidden"], numerics="exact").lower()
    run = plan.forward(None, {"x": [1, 2]})
    twin = pickle.loads(pickle.dumps(plan))
    assert twin.results == plan.results
    assert same_runs(twin.forward(None, {"x": [1, 2]}), run)


@pytest.mark.parametrize("backward", [False, True])
def test_results_stay_when_a_fed_array_is_written_to(backward: bool) -> None:
    tape = Tape()
    x = tape.input(shape=(2, 3), name="x")
    views = [
        x,
        x.transpose(),
        x.reshape((6,)),
        x.permute((1, 0)).narrow(0, 1, 1),
        x.narrow(0, 0, 1).reshape((3,)).broadcast_along((0,), (2,)),
        x.unfold(1, 2, 1),
        x.convert(f32),
        x.concatenate([], 0),
        x.pad((0, 0), (0, 0)),
        x.sum(()),
        x.max(()),
        x.less(x).select(x, x),
        -x,
        x + 1.0,
    ]
    results = [view.symbol for view in views]
    loss = sum((view.sum() for view in views[1:]), views[0].sum()).symbol
    network = tape.into_network()
    for roots in [results, [results[1]], [results[7]], [loss, *results[2:4]]]:
        plan = network.entry(roots, backward=backward, numerics="exact").lower()
        fed = np.arange(6, dtype=np.float32).reshape(2, 3)
        run = plan.forward(None, {"x": fed})
        before = [run.of(root).numpy().tobytes() for root in roots]
        fed[:] = 77.0
        assert [run.of(root).numpy().tobytes() for root in roots] == before


def test_what_a_scan_reads_stays_when_a_fed_array_is_written_to() -> None:
    tape = Tape()
    w = tape.parameter([1.0, 2.0], name="w")
    x = tape.input(shape=(2,), name="x")
    loss = (w * x.reshape((2,))).sum().symbol
    fed = np.array([3.0, 4.0], np.float32)
    run = (
        tape.into_network()
        .entry([loss], backward=True, numerics="exact")
        .lower()
        .forward(None, {"x": fed})
    )
    fed[:] = 77.0
    assert holds(run.backward(loss).of("w"), [3.0, 4.0], f32)


def test_nobody_writes_to_a_result() -> None:
    network, names = two_branches()
    run = network.entry(["near", "w", "x"], numerics="exact").lower().forward(None, {"x": [1, 2]})
    for reference in ("near", "w", "x", names["near"]):
        with pytest.raises(ValueError, match="read-only"):
            run.of(reference).numpy()[...] = 1.0


def test_a_result_may_be_a_source() -> None:
    network, _ = two_branches()
    run = network.entry(["w", "x"], numerics="exact").lower().forward(None, {"x": [5, 6]})
    assert holds(run.of("w"), [1.0, 2.0], f32)
    assert holds(run.of("x"), [5.0, 6.0], f32)
