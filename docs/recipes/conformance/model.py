"""The model that the workflow holds against the oracle."""

from topos import Plan, Tape


def plan() -> Plan:
    """Returns the plan of one layer over two rows."""
    tape = Tape()
    weights = tape.parameter([[0.5, -1.0], [2.0, 0.25]], name="weights")
    (tape.input(shape=[2, 2], name="features") @ weights).tanh().named("scores")
    return tape.into_network().entry(["scores"]).lower()
