"""Runs: what may be read, what a scan answers, and what was not declared."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.exact import exactly, holds, same, same_runs
from topos import Element, Network, Numerics, Run, Symbol, Tape, f32
from topos.backend import Backend, Formula, Function, GemmTask, MapTask
from topos.errors import PostureError, ReadError, SymbolError

Array = npt.NDArray[Any]


def cubes() -> Network:
    tape = Tape()
    w = tape.parameter(2.0, name="w")
    square = (w * w).named("square")
    (square * w).named("cube")
    (w + 1.0).named("other")
    return tape.into_network()


def test_only_declared_values_are_read() -> None:
    network = cubes()
    for run in (
        network.entry(["cube"], observe=["other"]).interpret(),
        network.entry(["cube"], observe=["other"]).lower().forward(),
    ):
        assert holds(run.of("cube"), 8.0, f32)
        assert holds(run.of("other"), 3.0, f32)
        message = "%1 'square' was not declared: make it a root or observe it"
        with pytest.raises(ReadError, match=exactly(message)):
            run.of("square")
        with pytest.raises(SymbolError, match=exactly("no value is named 'sphere'")):
            run.of("sphere")
        with pytest.raises(SymbolError, match=re.escape("belongs to another recording")):
            run.of(Symbol(1, 0))


def test_the_oracle_of_a_whole_network_answers_everything() -> None:
    network = cubes()
    run = network.forward()
    assert sorted(run.symbols()) == [node.symbol for node in network.nodes()]
    assert repr(network.entry(["cube"]).interpret()) == "Run(cube: f32[])"


def test_an_entry_has_roots() -> None:
    with pytest.raises(ReadError, match=exactly("an entry needs one root or more, got none")):
        cubes().entry([])
    with pytest.raises(SymbolError, match=exactly("no value is named 'sphere'")):
        cubes().entry(["sphere"])
    with pytest.raises(SymbolError, match=exactly("no value is named 'sphere'")):
        cubes().entry(["cube"], observe=["sphere"])


def test_an_entry_states_its_posture() -> None:
    entry = cubes().entry(["cube"], observe=["w"], backward=True, numerics=Numerics.EXACT).entry
    assert [symbol.position for symbol in entry.results()] == [2, 0]
    assert (entry.backward, entry.numerics) == (True, Numerics.EXACT)
    assert cubes().entry(["cube"]).entry.numerics is Numerics.FAST
    assert repr(cubes().entry(["cube"])) == "BoundEntry(cube; fast)"


@pytest.mark.parametrize("numerics", Numerics)
def test_numerics_are_a_choice(numerics: Numerics) -> None:
    entry = cubes().entry(["cube"], numerics=numerics)
    assert same_runs(entry.lower().forward(), entry.interpret())
    assert entry.lower().numerics is numerics


def test_a_forward_only_run_has_no_backward() -> None:
    entry = cubes().entry(["cube"])
    message = "backward needs an entry with backward=True, got a forward-only or compiled one"
    for run in (entry.interpret(), entry.lower().forward()):
        with pytest.raises(PostureError, match=exactly(message)):
            run.backward("cube")
        assert holds(run.of("cube"), 8.0, f32)


def test_a_target_is_declared() -> None:
    entry = cubes().entry(["cube"], backward=True)
    message = "%1 'square' was not declared: a backward target is a root or observed"
    for run in (entry.interpret(), entry.lower().forward()):
        with pytest.raises(ReadError, match=exactly(message)):
            run.backward("square")
        assert holds(run.backward("cube").of("w"), 12.0, f32)


def test_every_declared_target_is_scanned_alike_by_plan_and_oracle() -> None:
    network = cubes()
    entry = network.entry(["other"], observe=["cube", "square"], backward=True)
    oracle = network.forward()
    for run in (entry.interpret(), entry.lower().forward()):
        for target, slope in [("cube", 12.0), ("square", 4.0), ("other", 1.0)]:
            assert holds(run.backward(target).of("w"), slope, f32)
            assert same(run.backward(target).of("w"), oracle.backward(target).of("w"))


def test_a_scan_answers_for_the_nodes_up_to_its_target_and_for_every_source() -> None:
    run = cubes().forward()
    field = run.backward("square")
    assert [symbol.position for symbol in field.symbols()] == [0, 1, 3]
    with pytest.raises(ReadError, match=exactly("%2 'cube' has no entry in this Field")):
        field.of("cube")


def test_recorded_gradients_are_read_as_a_field() -> None:
    tape = Tape()
    w, v = tape.parameter(2.0, name="w"), tape.parameter(3.0, name="v")
    adjoints = tape.differentiate(w * v, [v, w])
    network = tape.into_network()
    field = network.entry(adjoints.roots()).lower().forward().recorded_gradients(adjoints)
    assert holds(field.of("w"), 3.0, f32)
    assert holds(field.of("v"), 2.0, f32)
    with pytest.raises(ReadError, match=re.escape("was not declared: make it a root")):
        network.entry(["w"]).lower().forward().recorded_gradients(adjoints)


def test_a_pickled_run_is_read_and_scanned_alike() -> None:
    run = cubes().entry(["cube"], backward=True).lower().forward()
    twin = pickle.loads(pickle.dumps(run))
    assert same_runs(twin, run)
    assert holds(twin.backward("cube").of("w"), 12.0, f32)


class Counted(Element):
    """An element that counts what its hooks are asked, and answers nothing or doubled products."""

    def __init__(self, *, answers: bool) -> None:
        super().__init__("c32", np.float32, mlir="f32")
        self.answers = answers
        self.asked: list[tuple[str, bool]] = []

    def gemm(self, task: GemmTask, exact: bool) -> Function | None:
        self.asked.append((f"product of {task.left} by {task.right}", exact))
        return doubled if self.answers else None

    def map(self, function: Formula, task: MapTask, exact: bool) -> Function | None:
        self.asked.append((function.value, exact))
        return None


def doubled(left: Array, right: Array, out: Array | None = None) -> Array:
    return np.multiply(np.matmul(left, right), np.float32(2), out=out)


def layer(element: Element, numerics: Numerics) -> Run:
    tape = Tape(element=element)
    w = tape.parameter([[1.0, 2.0, 0.5], [3.0, -1.0, 0.25]], name="w")
    x = tape.input([[0.5, 1.0]], name="x")
    (x @ w).logistic().log1p().sum().named("loss")
    entry = tape.into_network().entry(["loss"], backward=True, numerics=numerics)
    return entry.lower().forward()


@pytest.mark.parametrize("numerics", Numerics)
def test_a_scan_asks_the_element_before_the_backends(numerics: Numerics) -> None:
    quiet, doubling = Counted(answers=False), Counted(answers=True)
    plain = layer(quiet, numerics)
    quiet.asked.clear()
    slope = plain.backward("loss").of("w").numpy()
    exact = numerics is Numerics.EXACT
    assert ("product of c32[2, 1] by c32[1, 3]", exact) in quiet.asked
    asked = len(quiet.asked)
    plain.backward("loss")
    assert len(quiet.asked) == asked, "a plan decides once for each form"
    run = layer(doubling, numerics)
    assert run.backward("loss").of("w").numpy().tobytes() != slope.tobytes()


@pytest.mark.parametrize("numerics", Numerics)
def test_a_scan_is_counted_in_a_tally(numerics: Numerics) -> None:
    run = layer(f32, numerics)
    with Backend.tallied() as tally:
        first = run.backward("loss").of("w")
    products = {row for row in tally if row.formula is Formula.GEMM}
    # One for the parameter, one for the input.
    assert sum(row.times for row in products) == 2
    if numerics is Numerics.FAST:
        assert None not in {row.backend for row in products}
    with Backend.tallied() as again:
        assert same(run.backward("loss").of("w"), first)
    assert again.rows() == tally.rows()


def test_an_exact_scan_has_the_bits_of_the_oracle_with_and_without_a_nan() -> None:
    for number in (0.5, np.nan, np.inf):
        tape = Tape()
        w = tape.parameter([[1.0, 2.0], [3.0, number]], name="w")
        (w @ w.exp()).tanh().sum().named("loss")
        entry = tape.into_network().entry(["loss"], backward=True, numerics=Numerics.EXACT)
        oracle = entry.interpret().backward("loss").of("w")
        run = entry.lower().forward()
        with Backend.tallied() as tally:
            assert same(run.backward("loss").of("w"), oracle)
        assert tally.rows()


def test_the_scan_of_an_interpreter_asks_no_element() -> None:
    element = Counted(answers=True)
    tape = Tape(element=element)
    w = tape.parameter([[1.0, 2.0], [3.0, 4.0]], name="w")
    (w @ w).exp().sum().named("loss")
    run = tape.into_network().entry(["loss"], backward=True).interpret()
    with Backend.tallied() as tally:
        run.backward("loss")
    assert element.asked == []
    assert {row.backend for row in tally} == {None}
