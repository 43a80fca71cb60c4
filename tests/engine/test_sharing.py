"""Shared storage: no buffer is written while a value in it is alive, whatever the program."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tests.engine.programs import Program, programs
from tests.engine.test_programs import BOUNDED, recorded
from tests.exact import same_runs
from topos import Network, Numerics, Run, Symbol, Tape, Tensor, Value
from topos.engine import source_text
from topos.engine.choices import Choices
from topos.engine.layout import Allocator
from topos.engine.run import ScanTensor
from topos.graph import replay
from topos.op import Source


def node_by_node(network: Network, results: list[Symbol]) -> Run:
    """Returns a run of the fast kernels in which every value has memory of its own."""
    columns, order = network.columns, range(network.length)
    values: dict[int, Tensor] = {}
    choices = Choices(Numerics.FAST)
    for index in order:
        source = columns.forms[index].operation
        if isinstance(source, Source):
            assert source.payload is not None
            values[index] = ScanTensor.within(source.payload, source.type.element, choices)
    replay(columns, order, values)
    return Run(network, {symbol.position: values[symbol.position] for symbol in results}, None)


@settings(BOUNDED, max_examples=50)
@given(programs(longest=12))
def test_a_fast_program_computes_what_its_kernels_compute_apart(program: Program) -> None:
    network, loss, parameters, adjoints = recorded(program)
    roots = [loss, *adjoints.roots(), parameters[0]]
    plan = network.entry(roots, numerics="fast").lower()
    wanted = node_by_node(network, list(plan.results))
    assert same_runs(plan.forward(), wanted)
    assert same_runs(plan.forward(), wanted)


@pytest.mark.parametrize("numerics", Numerics)
def test_a_walked_program_computes_what_a_compiled_one_does(
    numerics: Numerics, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = Tape()
    w = tape.parameter(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    hidden = (w @ w.transpose()).tanh().maximum(0.25) - 1.0
    loss = (hidden.reshape((9,)).log_softmax(0).exp() * 3.0).sum()
    adjoints = tape.differentiate(loss, [w])
    entry = tape.into_network().entry([loss.symbol, *adjoints.roots()], numerics=numerics)
    compiled = entry.lower().forward()
    monkeypatch.setattr(source_text, "_LONGEST", 0)
    walked = entry.lower()
    assert same_runs(walked.forward(), compiled)
    assert same_runs(walked.forward(), compiled)


def test_an_allocator_never_gives_the_same_bytes_twice() -> None:
    draw = random.Random(5)
    allocator, held = Allocator(), dict[int, int]()
    for _ in range(4000):
        if held and draw.random() < 0.5:
            start = draw.choice(list(held))
            allocator.free(start, held.pop(start))
            continue
        length = draw.choice([0, 1, 64, 65, 100, 4096, 70_000])
        start = allocator.allocate(length)
        assert start % 64 == 0
        end = start + max(length, 1)
        assert end <= allocator.size
        assert all(end <= other or start >= other + max(held[other], 1) for other in held)
        held[start] = length


def test_freed_bytes_join_and_are_given_again() -> None:
    allocator = Allocator()
    starts = [allocator.allocate(64) for _ in range(8)]
    for start in starts[::2] + starts[1::2]:
        allocator.free(start, 64)
    assert allocator.allocate(512) == 0
    assert allocator.size == 512


OVERLAPS: dict[str, Callable[[Value], Value]] = {
    "itself_turned": lambda x: x + x.transpose(),
    "itself_twice": lambda x: x * x,
    "turned_first": lambda x: x.transpose() - x,
    "a_row_of_itself": lambda x: x + x.narrow(0, 1, 1).reshape((4,)).broadcast_along([0], [4]),
    "a_column_of_itself": lambda x: x - x.narrow(1, 0, 1).reshape((4,)).broadcast_along([1], [4]),
    "selected_by_itself": lambda x: x.greater(0.1).select(x, x.transpose()),
    "reshaped_on_the_way": lambda x: x.transpose().reshape((16,)).reshape((4, 4)) + x,
    "two_axes_joined": lambda x: x.reshape((2, 2, 4)).permute((1, 2, 0)).reshape((8, 2)),
    "two_axes_apart": lambda x: x.reshape((2, 4, 2)).permute((1, 2, 0)).reshape((2, 8)),
    "read_after": lambda x: (x * 2.0) + (x.reshape((16,)) * 3.0).reshape((4, 4)),
}


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize("formula", OVERLAPS.values(), ids=OVERLAPS)
def test_a_step_reads_its_operands_before_it_writes_over_one(
    formula: Callable[[Value], Value], numerics: Numerics
) -> None:
    tape = Tape()
    x = tape.input(np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4))
    # A value of the plan's own, which may be written over.
    result = formula(x + 0.125).sum(1).symbol
    network = tape.into_network()
    plan = network.entry([result], numerics=numerics).lower()
    wanted = network.entry([result]).interpret().of(result).numpy()
    assert np.allclose(plan.forward().of(result).numpy(), wanted, rtol=1e-6, atol=1e-7)


def test_no_step_writes_over_what_it_also_reads_in_another_layout() -> None:
    tape = Tape()
    x = tape.input(shape=(4, 4), name="x") + 0.125
    results = (x + x.transpose()).sum().symbol
    text = tape.into_network().entry([results]).lower().schedule()
    assert "    add(a0, a1, out=a2)  # %4" in text.splitlines()


def test_a_chain_of_elementwise_steps_has_one_buffer() -> None:
    tape = Tape()
    value = tape.input(shape=(1 << 10,), name="x")
    for _ in range(30):
        value = (value * 0.5 + 1.0).tanh()
    result = value.sum().symbol
    plan = tape.into_network().entry([result]).lower()
    assert plan.memory().arena == 1 << 12
    assert plan.memory().peak == (1 << 12) + 4
    assert plan.schedule().count("out=a0") == 90


def test_a_result_is_computed_where_it_stays() -> None:
    tape = Tape()
    x = tape.input(shape=(1 << 10,), name="x")
    result = ((x * 2.0 + 1.0).tanh() - 0.5).symbol
    plan = tape.into_network().entry([result]).lower()
    assert plan.memory().arena == 0
    assert plan.memory().peak == 1 << 12
