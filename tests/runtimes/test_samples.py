"""Every sample and element on every runtime, held against the oracle."""

from __future__ import annotations

import pytest

from tests.runtimes.held import other_bits
from tests.runtimes.require import require
from tests.samples import SAMPLES, title
from topos import Plan, Symbol, Tape, judge, runtimes
from topos.compiler import ELEMENTS, Element
from topos.stablehlo import parse

EVERY = list(ELEMENTS.values())


def lowered(element: Element) -> tuple[Plan, dict[Symbol, str]]:
    """Returns one plan of every sample that takes `element`, and the operation of each result.

    One compilation serves them all.
    """
    tape = Tape(element=element)
    operations: dict[Symbol, str] = {}
    for sample in SAMPLES:
        if element in sample.elements:
            result, _ = sample.record(tape, element)
            operations[result.symbol] = sample.operation.__name__
    return tape.into_network().entry(list(operations)).lower(), operations


@pytest.mark.parametrize("element", EVERY, ids=title)
def test_interpreter_equals_oracle_to_the_bit(element: Element) -> None:
    plan, operations = lowered(element)
    assert [operations[symbol] for symbol in other_bits(plan, "interpreter", "exact")] == []


# The samples of one element take iree seconds.
FEW = [element for element in EVERY if element.name in ("f32", "f64", "i32")]


@pytest.mark.parametrize(
    ("runtime", "element"),
    [
        *((runtime, element) for runtime in ("xla", "reference") for element in EVERY),
        *(("iree", element) for element in FEW),
    ],
    ids=title,
)
def test_a_runtime_differs_by_no_more_than_rounding(runtime: str, element: Element) -> None:
    require(runtime)
    plan, operations = lowered(element)
    within = [symbol for symbol in operations if runs(plan, symbol, runtime, element)]
    assert len(within) > 0.9 * len(operations)
    assert len(within) == len(operations) or runtime == "iree"
    found = judge.grade(plan.network.entry(within).lower(), runtime)
    assert not found.failures
    assert [each.worst_told() for each in found.results if each.verdict in judge.BAD] == []


def runs(plan: Plan, symbol: Symbol, runtime: str, element: Element) -> bool:
    """Returns whether no operation of one result is refused in all forms by the certificate."""
    certificate = runtimes.certificate(runtime)
    if certificate is None:
        return True
    text = plan.network.entry([symbol]).lower().emit_stablehlo()
    body = parse(text).function().body
    assert body is not None
    names = {operation.name for block in body.blocks for operation in block.operations}
    refused = {key[0] for key in certificate.refusals if key[2] == element.name}
    return not names & (refused - {key[0] for key in certificate.cells if key[2] == element.name})
