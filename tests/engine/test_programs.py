"""Random programs: the oracle, plans and both gradients agree to the bit."""

from __future__ import annotations

import pickle

from hypothesis import HealthCheck, given, settings

from tests.engine.programs import Program, programs
from tests.exact import same, same_runs
from topos import Adjoints, Network, Symbol, Tape

BOUNDED = settings(
    max_examples=80,
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
@given(programs(longest=12))
def test_plans_answer_what_the_oracle_answers(program: Program) -> None:
    network, loss, parameters, adjoints = recorded(program)
    everything = [node.symbol for node in network.nodes()]
    full = network.forward()
    for observed in ([], everything[::3], everything):
        entry = network.entry([loss, *adjoints.roots()], observe=observed, numerics="exact")
        plan = entry.lower()
        run = plan.forward()
        assert all(same(run.of(symbol), full.of(symbol)) for symbol in run.symbols())
        assert same_runs(plan.forward(), run)
    oracle = full.backward(loss)
    kept = network.entry([loss], backward=True, numerics="exact").lower().forward()
    scanned = kept.backward(loss)
    for symbol in parameters:
        assert same(full.of(adjoints.of(symbol)), oracle.of(symbol))
        assert same(scanned.of(symbol), oracle.of(symbol))


@settings(BOUNDED, max_examples=15)
@given(programs())
def test_a_pickled_network_answers_alike(program: Program) -> None:
    network, loss, _, adjoints = recorded(program)
    twin = pickle.loads(pickle.dumps(network))
    roots = [loss, *adjoints.roots()]
    assert same_runs(
        twin.entry(roots, numerics="exact").lower().forward(),
        network.entry(roots, numerics="exact").interpret(),
    )
