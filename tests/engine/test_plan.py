"""Plans: closure, releases, results in order, signatures, and runs that share nothing."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.plan_networks import two_branches
from tests.exact import same_runs
from topos import Network, Numerics, Plan, Symbol, Tape, Tensor, f32, i32
from topos.engine.liveness import closure, releases, retained


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
