"""Every sample and element on every runtime, held against the oracle."""

from __future__ import annotations

import pytest

from tests.runtimes.require import require
from tests.samples import SAMPLES, title
from topos import Plan, Symbol, Tape
from topos.compiler import ELEMENTS, Element
from topos.runtimes.grade import envelope, grade, subject

EVERY = list(ELEMENTS.values())


def lowered(element: Element) -> tuple[Plan, dict[Symbol, str]]:
    """Returns one plan of every sample that takes `element`, and what each result shows.

    That is its operation, as the envelope table calls it. One compilation serves them all.
    """
    tape = Tape(element=element)
    subjects: dict[Symbol, str] = {}
    for sample in SAMPLES:
        if element in sample.elements:
            result, _ = sample.record(tape, element)
            operation = tape.columns.forms[result.symbol.position].operation
            subjects[result.symbol] = subject(operation)
    return tape.into_network().entry(list(subjects)).lower(), subjects


@pytest.mark.parametrize("element", EVERY, ids=title)
def test_interpreter_equals_oracle_to_the_bit(element: Element) -> None:
    plan, subjects = lowered(element)
    results = grade(plan, "interpreter", numerics="exact").results
    assert [subjects[each.symbol] for each in results if not each.bits_equal] == []


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
def test_runtime_stays_inside_its_envelope(runtime: str, element: Element) -> None:
    require(runtime)
    plan, subjects = lowered(element)
    bounds = {symbol: envelope(runtime, of, element.name) for symbol, of in subjects.items()}
    within = [symbol for symbol, bound in bounds.items() if bound.ulps is not None]
    assert len(within) == len(bounds) or runtime == "iree"
    for graded in grade(plan.network.entry(within).lower(), runtime).results:
        bound = bounds[graded.symbol]
        assert bound.ulps is not None
        assert graded.distance <= bound.ulps, (subjects[graded.symbol], graded, bound)
