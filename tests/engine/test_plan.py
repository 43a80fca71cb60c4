"""Plans: closure, releases, results in order, signatures, and runs that share nothing."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.exact import holds, same, same_runs
from topos import Network, Numerics, Plan, Run, Symbol, Tape, Tensor, f32, i32
from topos.engine.liveness import closure, releases, retained


def two_branches() -> tuple[Network, dict[str, Symbol]]:
    tape = Tape()
    w = tape.parameter([1.0, 2.0], name="w")
    x = tape.input(shape=(2,), name="x")
    unused = tape.input(shape=(5,), name="unused")
    hidden = (w * x).named("hidden")
    far = unused.exp().sum().named("far")
    near = hidden.tanh().sum().named("near")
    names = {"hidden": hidden.symbol, "far": far.symbol, "near": near.symbol}
    return tape.into_network(), names


def chain(length: int) -> tuple[Network, Symbol]:
    tape = Tape()
    value = tape.input(shape=(1 << 18,), name="x")
    for _ in range(length):
        value = value.maximum(0.5)
    result = value.sum().symbol
    return tape.into_network(), result


def peak(plan: Plan, feed: Tensor) -> int:
    """Returns the most bytes that a run of `plan` holds at once."""
    plan.forward(None, {"x": feed})
    tracemalloc.start()
    try:
        plan.forward(None, {"x": feed})
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_plan_evaluates_the_ancestors_of_its_results_alone() -> None:
    network, names = two_branches()
    plan = network.entry([names["near"]], numerics="exact").lower()
    assert plan.order == [0, 1, 3, 6, 7]
    run = plan.forward(None, {"x": [1, 2]})
    assert run.symbols() == (names["near"],)
    assert network.entry([names["far"]], numerics="exact").lower().order == [2, 4, 5]


def test_an_input_that_no_result_needs_is_not_asked_for() -> None:
    network, names = two_branches()
    assert network.entry([names["near"]], numerics="exact").lower().forward(None, {"x": [1, 1]})
    ports = network.entry([names["near"]], numerics="exact").lower().signature().arguments
    assert [port.name for port in ports] == ["w", "x"]


def test_results_are_roots_then_observes_each_once() -> None:
    network, names = two_branches()
    near, far, hidden = names["near"], names["far"], names["hidden"]
    plan = network.entry(
        [near, far, near], observe=["hidden", far, hidden], numerics="exact"
    ).lower()
    assert plan.results == (near, far, hidden)
    assert [port.symbol for port in plan.signature().results] == [near, far, hidden]
    feeds: Any = {"x": [1, 2], "unused": np.zeros(5, np.float32)}
    assert plan.forward(None, feeds).symbols() == (near, far, hidden)


def test_a_signature_lists_parameters_then_inputs_in_recording_order() -> None:
    tape = Tape()
    x = tape.input(shape=(2,), name="x")
    w = tape.parameter([1.0, 2.0])
    n = tape.input(shape=(2,), element=i32, name="n")
    v = tape.parameter([1.0, 2.0], name="v")
    loss = (w * x + n.convert(f32) * v).sum()
    signature = tape.into_network().entry([loss.symbol], numerics="exact").lower().signature()
    assert str(signature) == "(%1: f32[2], v: f32[2], x: f32[2], n: i32[2]) -> (%8: f32[])"
    assert signature.arguments == signature.parameters + signature.inputs


def test_values_are_freed_while_the_plan_runs() -> None:
    feed = Tensor(np.ones(1 << 18, np.float32))
    size = feed.numpy().nbytes
    network, result = chain(40)
    forward = network.entry([result], numerics="exact").lower()
    assert peak(forward, feed) < 5 * size
    # The same chain holds everything that the rules of its derivative read.
    kept = network.entry([result], backward=True, numerics="exact").lower()
    assert peak(kept, feed) > 35 * size


def test_values_are_freed_on_the_careful_path_too() -> None:
    feed = Tensor(np.full(1 << 18, np.nan, np.float32))
    network, result = chain(40)
    assert peak(network.entry([result], numerics="exact").lower(), feed) < 6 * feed.numpy().nbytes


def test_a_value_is_freed_after_its_last_use_and_never_when_declared() -> None:
    network, names = two_branches()
    columns = network.columns
    order = closure(columns, [names["near"].position])
    assert releases(columns, order, {7}) == [(), (), (0, 1), (3,), (6,)]
    assert releases(columns, order, {7, 3}) == [(), (), (0, 1), (), (6,)]
    assert retained(columns, order) == {0, 1, 6}


def test_a_value_used_twice_at_once_is_freed_once() -> None:
    tape = Tape()
    x = tape.input([1.0, 2.0])
    y = x.exp()
    result = (y * y).symbol
    network = tape.into_network()
    assert releases(network.columns, [0, 1, 2], {2}) == [(), (0,), (1,)]
    assert same_runs(
        network.entry([result], numerics="exact").lower().forward(),
        network.entry([result], numerics="exact").interpret(),
    )


def test_a_plan_is_described_with_what_it_keeps_and_frees() -> None:
    network, names = two_branches()
    plan = network.entry([names["near"]], observe=["hidden"], numerics=Numerics.EXACT).lower()
    assert plan.describe().splitlines() == [
        "plan of 5 nodes, exact, forward only",
        "signature (w: f32[2], x: f32[2]) -> (near: f32[], hidden: f32[2])",
        "peak of 20 bytes, arena of 0",
        "%0 = parameter : f32[2]  'w'",
        "%1 = input : f32[2]  'x'",
        "%3 = mul %0 %1 : f32[2]  'hidden'  kept  frees %0 %1",
        "%6 = map(function=tanh) %3 : f32[2]",
        "%7 = sum %6 : f32[]  'near'  kept  frees %6",
    ]
    assert repr(plan) == ("Plan(5 nodes, (w: f32[2], x: f32[2]) -> (near: f32[], hidden: f32[2]))")


def test_a_description_says_what_is_fused_and_reused() -> None:
    tape = Tape()
    image = tape.input(shape=(1, 1, 4, 4), name="image")
    pooled = image.unfold(2, 2, 2).unfold(3, 2, 2).max((4, 5))
    result = (pooled * 2.0 + 1.0).sum().symbol
    plan = tape.into_network().entry([result]).lower()
    assert plan.describe().splitlines()[2:] == [
        "peak of 68 bytes, arena of 64",
        "%3 is reduce_window of %0",
        "%0 = input : f32[1, 1, 4, 4]  'image'",
        "%1 = unfold(axis=2, size=2, step=2) %0 : f32[1, 1, 2, 4, 2]  frees %0  fused into %3",
        "%2 = unfold(axis=3, size=2, step=2) %1 : f32[1, 1, 2, 2, 2, 2]  frees %1  fused into %3",
        "%3 = max_along(axes=(4, 5)) %2 : f32[1, 1, 2, 2]  frees %2",
        "%4 = leaf : f32[1, 1, 2, 2]",
        "%5 = mul %3 %4 : f32[1, 1, 2, 2]  frees %3 %4  over %3",
        "%6 = leaf : f32[1, 1, 2, 2]",
        "%7 = add %5 %6 : f32[1, 1, 2, 2]  frees %5 %6  over %5",
        "%8 = sum %7 : f32[]  kept  frees %7",
    ]


def test_a_schedule_is_a_function_over_slots() -> None:
    tape = Tape()
    w = tape.parameter([[1.0, 2.0], [3.0, 4.0]])
    x = tape.input(shape=(2, 2), name="x")
    result = ((x @ w.transpose()).tanh() * 2.0).symbol
    plan = tape.into_network().entry([result]).lower()
    assert plan.schedule().splitlines() == [
        "def run(sources, arena):",
        "    (s0, s1,) = sources",
        "    v0 = ndarray((2, 2), f4, s0, 0, (4, 8))  # %2",
        "    r0 = empty((2, 2), f4)",
        "    matmul(s1, v0, out=r0)  # %3",
        "    del v0",
        "    tanh(r0, out=r0)  # %4",
        "    multiply(r0, c1, out=r0)  # %6",
        "    return (r0,)",
    ]


def test_memory_is_what_a_run_holds_line_by_line() -> None:
    tape = Tape()
    x = tape.input(shape=(1024,), name="x")
    both = (x.exp() * 2.0, x.tanh() * 3.0)
    result = (both[0] + both[1]).sum().symbol
    plan = tape.into_network().entry([result]).lower()
    memory = plan.memory()
    assert memory.live == (4096, 4096, 8192, 8192, 8192, 4100, 4100)
    assert memory.beside == (0, 0, 0, 0, 0, 4, 4)
    assert (memory.peak, memory.arena) == (8196, 8192)


def products() -> tuple[Network, list[Symbol]]:
    tape = Tape()
    x = tape.input(shape=(512, 512), name="x")
    square = (x @ x).tanh()
    results = [(square * 2.0).symbol, (square @ x).maximum(0.0).sum().symbol]
    return tape.into_network(), results


def turned() -> tuple[Network, list[Symbol]]:
    tape = Tape()
    x = tape.input(shape=(512, 512), name="x")
    flat = (x * 2.0).transpose().reshape((1 << 18,))
    result = (flat.reshape((1 << 9, 1 << 9)).tanh() + x.transpose()).symbol
    return tape.into_network(), [result]


def slopes() -> tuple[Network, list[Symbol]]:
    tape = Tape()
    x = tape.input(shape=(512, 512), name="x")
    loss = ((x.tanh() @ x) * x.exp()).sum()
    adjoints = tape.differentiate(loss, [x])
    return tape.into_network(), [loss.symbol, *adjoints.roots()]


@pytest.mark.parametrize("record", [products, turned, slopes])
def test_the_peak_is_what_a_first_run_allocates(
    record: Callable[[], tuple[Network, list[Symbol]]],
) -> None:
    network, results = record()
    plan = network.entry(results).lower()
    stated = plan.memory().peak
    feed = Tensor(np.linspace(-1, 1, 1 << 18, dtype=np.float32).reshape(512, 512))
    tracemalloc.start()
    try:
        run = plan.forward(None, {"x": feed})
        measured = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert run.symbols() == tuple(results)
    assert stated <= measured <= 1.05 * stated


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
        runs = list(pool.map(run, range(64)))
        scans = list(pool.map(scan, range(64)))
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
