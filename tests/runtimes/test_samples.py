"""Every sample and element on every runtime, held against the oracle."""

from __future__ import annotations

import pytest

from tests.sample import Sample
from tests.samples import CASES, SAMPLES, title
from topos import Plan, Symbol, Tape, runtimes
from topos.compiler import ELEMENTS, Element
from topos.runtimes.grade import envelope, grade, subject


def lowered(sample: Sample, element: Element) -> tuple[Plan, str]:
    """Returns the sample as a plan, and what the envelope table calls its operation."""
    tape = Tape(element=element)
    result, _ = sample.record(tape, element)
    network = tape.into_network()
    node = list(network.nodes())[result.symbol.position]
    return network.entry([result.symbol]).lower(), subject(node.operation)


@pytest.mark.parametrize(("sample", "element"), CASES, ids=title)
def test_interpreter_equals_oracle_to_the_bit(sample: Sample, element: Element) -> None:
    plan, _ = lowered(sample, element)
    assert grade(plan, "interpreter", numerics="exact").bits_equal


@pytest.mark.parametrize("runtime", ["xla", "reference"])
@pytest.mark.parametrize(("sample", "element"), CASES, ids=title)
def test_runtime_stays_inside_its_envelope(sample: Sample, element: Element, runtime: str) -> None:
    require(runtime)
    plan, operation = lowered(sample, element)
    bound = envelope(runtime, operation, element.name)
    assert bound.ulps is not None
    assert grade(plan, runtime).distance <= bound.ulps, bound


@pytest.mark.parametrize("element", list(ELEMENTS.values()), ids=title)
def test_iree_stays_inside_its_envelope(element: Element) -> None:
    # One module holds every sample of an element, for a compilation costs IREE half a second.
    require("iree")
    tape = Tape(element=element)
    subjects: dict[Symbol, str] = {}
    for sample in SAMPLES:
        if element in sample.elements:
            result, _ = sample.record(tape, element)
            operation = tape.columns.forms[result.symbol.position].operation
            if envelope("iree", subject(operation), element.name).ulps is not None:
                subjects[result.symbol] = subject(operation)
    plan = tape.into_network().entry(list(subjects)).lower()
    for graded in grade(plan, "iree").results:
        bound = envelope("iree", subjects[graded.symbol], element.name)
        assert bound.ulps is not None
        assert graded.distance <= bound.ulps, (subjects[graded.symbol], graded, bound)


def require(runtime: str) -> None:
    """Skips the test where the runtime's packages are not installed."""
    status = runtimes.load(runtime).status()
    if not status.ready:
        pytest.skip(status.detail)
