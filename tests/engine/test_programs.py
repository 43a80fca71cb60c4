"""Random programs: the oracle, plans and both gradients agree to the bit."""

from __future__ import annotations

import pickle

from hypothesis import HealthCheck, given, settings

from tests.engine.programs import Program, programs
from tests.exact import same, same_runs
from topos import Adjoints, Network, Symbol, Tape

BOUNDED = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def recorded(program: Program) -> tuple[Network, Symbol, list[Symbol], Adjoints]:
    tape = Tape(element=program.element)
    parameters, loss = program.record(tape)
    adjoints = tape.differentiate(loss, parameters)
    symbols = [parameter.symbol for parameter in parameters]
    return tape.into_network(), loss.symbol, symbols, adjoints


@BOUNDED
@given(programs())
def test_a_plan_answers_what_the_oracle_answers(program: Program) -> None:
    network, loss, _, adjoints = recorded(program)
    entry = network.entry([loss, *adjoints.roots()], numerics="exact")
    oracle = entry.interpret()
    plan = entry.lower()
    assert same_runs(plan.forward(), oracle)
    assert same_runs(plan.forward(), oracle)
    full = network.forward()
    assert all(same(full.of(symbol), oracle.of(symbol)) for symbol in oracle.symbols())


@BOUNDED
@given(programs())
def test_recorded_gradients_are_those_of_both_scans(program: Program) -> None:
    network, loss, parameters, adjoints = recorded(program)
    run = network.entry(adjoints.roots(), numerics="exact").lower().forward()
    oracle = network.forward().backward(loss)
    planned = (
        network.entry([loss], backward=True, numerics="exact").lower().forward().backward(loss)
    )
    for symbol in parameters:
        assert same(run.of(adjoints.of(symbol)), oracle.of(symbol))
        assert same(planned.of(symbol), oracle.of(symbol))


@settings(BOUNDED, max_examples=25)
@given(programs())
def test_every_node_is_equal_in_a_plan_that_observes_all_of_them(program: Program) -> None:
    network, loss, _, _ = recorded(program)
    everything = [node.symbol for node in network.nodes()]
    run = network.entry([loss], observe=everything, numerics="exact").lower().forward()
    oracle = network.forward()
    assert all(same(run.of(symbol), oracle.of(symbol)) for symbol in everything)


@settings(BOUNDED, max_examples=25)
@given(programs())
def test_a_pickled_network_answers_alike(program: Program) -> None:
    network, loss, _, adjoints = recorded(program)
    twin = pickle.loads(pickle.dumps(network))
    roots = [loss, *adjoints.roots()]
    assert same_runs(
        twin.entry(roots, numerics="exact").lower().forward(),
        network.entry(roots, numerics="exact").interpret(),
    )
