"""Elementwise operations in blocks: every element keeps its bits, and no memory is shared."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings

from tests.engine.catalog.blocks import FORMULAS, MAPS, Recording, blocks_of, fed, lowered, mixed
from tests.engine.catalog.recordings import drawn
from tests.engine.programs import Program, programs
from tests.engine.test_programs import BOUNDED, recorded
from tests.engine.test_sharing import node_by_node
from tests.exact import same_runs
from topos import Element, Network, Numerics, Symbol, Tape, Value, bf16, f16, f32, f64
from topos.backend import Backend, Dispatch, Formula, Precision, Service, simd
from topos.engine.catalog import discover, elect
from topos.engine.catalog.kernels import home
from topos.engine.catalog.kernels.elementwise import Blocks
from topos.engine.choices import Choices

POSTURES: Final = (Numerics.FAST, Numerics.EXACT)


# Whole blocks, a last one that is not full, and rows that fill no vectors.
SHAPES: Final = ((64, 64), (77, 48), (40, 33))
EACH: Final = [
    *((name, f32, (77, 48)) for name in FORMULAS | MAPS),
    *((name, f64, (40, 33)) for name in FORMULAS),
    *((name, f64, (64, 64)) for name in ("arithmetic", "mixed", "an_outer_power", "tanh")),
]


@pytest.mark.parametrize(("name", "element", "shape"), EACH)
def test_blocks_have_the_bits_of_the_whole(
    name: str, element: Element, shape: tuple[int, int]
) -> None:
    network, result = fed((FORMULAS | MAPS)[name], element, shape)
    apart = lowered(network, result).forward()
    with blocks_of():
        fast, exact = (lowered(network, result, numerics=posture) for posture in POSTURES)
    for plan in (fast, exact):
        assert plan.schedule().count("elementwise") == 1
        assert plan.memory().arena == 0
    assert same_runs(fast.forward(), apart)
    oracle = network.entry([result.symbol]).interpret()
    assert same_runs(exact.forward(), oracle)
    assert same_runs(exact.forward(), oracle)


def kernel_of(network: Network, root: Value) -> Blocks:
    """Returns the kernel of the one match that ends in `root`."""
    columns = network.columns
    offers = discover(columns, range(network.length))
    (match,) = elect(offers, lambda match: True, [root.symbol.position])
    types = [columns.forms[operand].type for operand in match.operands]
    kernel = home(match, types, Choices(Numerics.FAST))
    assert isinstance(kernel, Blocks)
    return kernel


@pytest.mark.parametrize(("shape", "rows"), [((77, 48), 4), ((40, 33), 64), ((90, 160), 2)])
def test_blocks_begin_where_the_vectors_of_the_whole_do(shape: tuple[int, int], rows: int) -> None:
    # Numpy may treat the last elements of an array, those that fill no vector, by other rules.
    network, result = fed(mixed, f32, shape)
    with blocks_of():
        assert kernel_of(network, result).step == rows
    network, result = fed(FORMULAS["negated"], f32, shape)
    with blocks_of():
        assert kernel_of(network, result).step == 320


def test_a_chain_computes_in_its_result() -> None:
    tape = Tape()
    result = (tape.input(shape=(1 << 16,)) * 0.5 + 1.0) * 2.0
    network, x = tape.into_network(), drawn(1 << 16)
    with blocks_of(1 << 18):
        kernel = kernel_of(network, result)
    out = np.empty_like(x)
    numbers = [np.array(number, np.float32) for number in (0.5, 1.0, 2.0)]
    tracemalloc.start()
    try:
        assert kernel(x, *numbers, out=out) is out
        assert tracemalloc.get_traced_memory()[1] < 1 << 14
    finally:
        tracemalloc.stop()
    assert out.tobytes() == ((x * numbers[0] + numbers[1]) * numbers[2]).tobytes()


def test_scratch_is_taken_again_after_its_last_reader() -> None:
    tape = Tape()
    x = tape.input(shape=(64, 64))
    total = x * 2.0
    for number in range(20):
        total = total + (x + float(number)).tanh()
    with blocks_of():
        assert len(kernel_of(tape.into_network(), total).scratch) == 2


@pytest.mark.parametrize("element", [f16, bf16], ids=str)
def test_short_formats_round_each_operation(element: Element) -> None:
    network, result = fed(FORMULAS["arithmetic"], element, (77, 48))
    apart = lowered(network, result).forward()
    with blocks_of():
        fast, exact = (lowered(network, result, numerics=posture) for posture in POSTURES)
    assert all(plan.schedule().count("elementwise") == 1 for plan in (fast, exact))
    assert same_runs(fast.forward(), apart)
    assert same_runs(exact.forward(), network.entry([result.symbol]).interpret())


@pytest.mark.parametrize("place", [0, 1000, 3695])
def test_a_nan_in_any_block_starts_an_exact_run_over(place: int) -> None:
    tape = Tape()
    x = tape.input(shape=(3696,), name="x")
    inside = x - x.fill(np.inf)
    result = inside.equal(inside).select(inside * 2.0, x + 1.0)
    network = tape.into_network()
    with blocks_of():
        plan = lowered(network, result, numerics=Numerics.EXACT)
    assert "elementwise(" in plan.schedule()
    harmless = np.linspace(-1, 1, 3696, dtype=np.float32)
    spoiled = harmless.copy()
    # Infinity less infinity arises inside a block, and is read as a NaN.
    spoiled[place] = np.inf
    for feed in (harmless, spoiled, harmless):
        feeds = {"x": feed}
        oracle = network.entry([result.symbol]).interpret(feeds=feeds)
        assert same_runs(plan.forward(feeds=feeds), oracle)


DYING: dict[str, tuple[bool, Recording]] = {
    "read_early": (True, lambda x, y: (x * 2.0 + y).tanh()),
    "read_last": (True, lambda x, y: (x + y) * x),
    "read_throughout": (True, lambda x, y: ((x + y) * x - y / x) * x),
    "subtracted_from": (True, lambda x, y: (y * 2.0 + y * y).tanh() * 0.5 - x),
    "selected_from_last": (False, lambda x, y: (x - y).less(0.5).select(x, x * y)),
}


@pytest.mark.parametrize(("over", "formula"), DYING.values(), ids=DYING)
def test_a_result_is_written_over_an_operand_that_dies(over: bool, formula: Recording) -> None:
    tape = Tape()
    parts = [tape.input(drawn(120, 80, seed=seed)) for seed in (1, 2)]
    joined = parts[0].concatenate(parts[1:], 0)
    other = tape.input(drawn(240, 80, seed=3) + 4.0)
    total = formula(joined, other).sum(1)
    network = tape.into_network()
    with blocks_of():
        plan = lowered(network, total)
    assert plan.schedule().count("elementwise") == 1
    assert plan.describe().count(f"over %{joined.symbol.position}") == over
    assert plan.memory().arena == 240 * 80 * (4 if over else 8)
    with blocks_of(least=1 << 60):
        apart = lowered(network, total).forward()
    assert same_runs(plan.forward(), apart)
    assert same_runs(plan.forward(), apart)


def test_a_value_may_repeat_as_a_row_and_as_a_column() -> None:
    tape = Tape()
    v, x = tape.input(drawn(48)), tape.input(drawn(48, 48, seed=1))
    result = v.broadcast_along([0], [48]) * v.broadcast_along([1], [48]) - x
    network = tape.into_network()
    apart = lowered(network, result).forward()
    with blocks_of(1 << 10):
        plan = lowered(network, result)
    assert "    elementwise(s0, s0, s1, out=r0)  # %5" in plan.schedule().splitlines()
    assert same_runs(plan.forward(), apart)


def test_a_result_is_not_written_over_another_view_of_an_operand() -> None:
    tape = Tape()
    x = tape.input(drawn(64, 64)).concatenate([tape.input(drawn(64, 64, seed=1))], 0)
    column = x.narrow(1, 0, 1).reshape((128,)).broadcast_along([1], [64])
    result = ((x - column) * 2.0).sum(1)
    network = tape.into_network()
    with blocks_of():
        plan = lowered(network, result)
    assert plan.schedule().count("elementwise") == 1
    with blocks_of(least=1 << 60):
        apart = lowered(network, result)
    assert same_runs(plan.forward(), apart.forward())


@pytest.mark.parametrize("numerics", Numerics)
def test_what_a_scan_reads_is_kept_and_the_rest_runs_in_blocks(numerics: Numerics) -> None:
    tape = Tape()
    w = tape.parameter(drawn(40, 33), name="w")
    hidden = (w * 0.5 + 1.0).tanh()
    loss = ((hidden - 0.25) * 3.0 + 1.0 - w).sum().named("loss")
    network = tape.into_network()
    with blocks_of():
        plan = lowered(network, loss, numerics=numerics, backward=True)
        assert plan.schedule().count("elementwise") == 2
        run = plan.forward()
    with blocks_of(least=1 << 60):
        apart = lowered(network, loss, numerics=numerics, backward=True).forward()
    assert same_runs(run, apart)
    slopes = (each.backward("loss").of("w").numpy().tobytes() for each in (run, apart))
    assert len(set(slopes)) == 1


def test_threads_have_scratch_of_their_own() -> None:
    tape = Tape()
    x = tape.input(shape=(1 << 16,), name="x")
    result = ((x * 2.0 + 1.0) / (x * x + 0.5)).tanh() - x
    network = tape.into_network()
    with blocks_of(1 << 16):
        plan = lowered(network, result)
    feeds = [{"x": drawn(1 << 16, seed=seed)} for seed in range(4)]
    wanted = [plan.forward(feeds=feed).of(result.symbol).numpy().tobytes() for feed in feeds]
    wrong = []

    def work(place: int) -> None:
        for _ in range(30):
            run = plan.forward(feeds=feeds[place])
            if run.of(result.symbol).numpy().tobytes() != wanted[place]:
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_a_device_computes_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    network, result = fed(MAPS["tanh"], f32, (64, 64))
    row = simd.TABLE[Formula.TANH]
    remote = row._replace(coverage=row.coverage._replace(dispatch=Dispatch.DEVICE))
    monkeypatch.setitem(simd.TABLE, Formula.TANH, remote)
    with blocks_of():
        assert "elementwise" not in lowered(network, result).schedule()


def test_a_tally_has_one_row_for_the_blocks() -> None:
    network, result = fed(MAPS["tanh"], f32, (64, 64))
    with blocks_of():
        plan = lowered(network, result)
    with Backend.tallied() as tally:
        plan.forward()
    assert tally.rows() == (Service(Formula.ELEMENTWISE, Precision.F32, Backend.FUSED),)


@settings(BOUNDED, max_examples=30)
@given(programs(longest=12))
def test_random_programs_have_the_same_bits_in_blocks(program: Program) -> None:
    network, loss, parameters, adjoints = recorded(program)
    roots: list[Symbol] = [loss, *adjoints.roots(), parameters[0]]
    with blocks_of():
        fast, exact = (network.entry(roots, numerics=posture).lower() for posture in POSTURES)
        assert same_runs(fast.forward(), node_by_node(network, list(fast.results)))
        assert same_runs(exact.forward(), network.entry(roots).interpret())
