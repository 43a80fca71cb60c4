"""Examining: what is found of one module of a folder, as JSON has it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from topos.errors import ArgumentError, ToposError, UnavailableError
from topos.judge.bisection.bisect import bisected
from topos.judge.bisection.finding import Bisection, Finding
from topos.judge.bisection.locations import Locations
from topos.judge.bisection.replay import Step, replays
from topos.judge.case import GIVEN, Case
from topos.judge.cases import argument_types, cases_of
from topos.judge.grading import Grade, ResultGrade, results_of
from topos.judge.target import RunError, Target
from topos.judge.triaging.folder import Subject, Terms
from topos.judge.verdicts import BAD
from topos.runtimes._archive import load
from topos.stablehlo import Module, parse
from topos.stablehlo.forms import text_of
from topos.stablehlo.ir import Operation
from topos.stablehlo.types import element_of

PASSED, WRONG, FAILED, REFUSED = "passed", "wrong", "failed", "refused"
# So many wrong operations of one module are told.
TOLD: Final = 100

Found = dict[str, Any]


def examined(subject: Subject, terms: Terms) -> Iterator[Found]:
    """Yields what is found of a module, and then what a bisection adds where it does not pass.

    What the runtime does wrong is never raised, nor is what is wrong with the module.
    """
    start = time.perf_counter()
    target = Target(terms.runtime, terms.numerics, terms.options)
    try:
        text = text_of(subject.path.read_bytes())
        cases = _cases(subject, terms, text)
        grade = _grade(cases, target, terms)
    # Nothing that a file holds may end the run.
    except Exception as error:
        reason = str(error) if isinstance(error, ToposError) else _told(error)
        yield {"outcome": REFUSED, "reason": reason, "seconds": time.perf_counter() - start}
        return
    found = _of_grade(grade)
    yield {**found, "seconds": time.perf_counter() - start}
    if not grade.passed:
        try:
            found |= _bisected(_first_bad(cases, grade), target, Locations.of(text))
        except Exception as error:
            found["note"] = f"the bisection failed: {_told(error)}"
        yield {**found, "seconds": time.perf_counter() - start}


def _cases(subject: Subject, terms: Terms, text: str) -> list[Case]:
    arguments, inputs = None, terms.inputs
    if subject.arguments is not None:
        arguments = load(subject.arguments, argument_types(parse(text).verify()), "arg")
    elif GIVEN in inputs:
        inputs = tuple([each for each in inputs if each != GIVEN])
    return [
        *cases_of(
            text, arguments, inputs, seed=terms.seed, samples=terms.samples, extent=terms.extent
        )
    ]


def _grade(cases: Sequence[Case], target: Target, terms: Terms) -> Grade:
    """Returns the grade; raises what the oracle's own run raises, and nothing of the runtime's."""
    results, failures = list[ResultGrade](), dict[str, str]()
    for case in cases:
        try:
            given = target.run(case.module, case.arguments, case.signature)
        except (RunError, UnavailableError, ArgumentError, MemoryError) as error:
            failures[case.name] = str(error) or _told(error)
        else:
            results += results_of(case, given)
    return Grade(str(target), terms.seed, terms.samples, tuple(results), failures)


def _of_grade(grade: Grade) -> Found:
    found: Found = {"verdict": str(grade.verdict), "reason": ""}
    if grade.failures:
        return found | {"outcome": FAILED, "reason": grade.failure}
    if grade.passed:
        return found | {"outcome": PASSED}
    worst = max(grade.results, key=lambda result: result.verdict)
    element = element_of(worst.type.dtype)
    return found | {
        "outcome": WRONG,
        "reason": f"{worst.name} {worst.worst_told()}",
        "element": element,
    }


def _first_bad(cases: Sequence[Case], grade: Grade) -> Case:
    bad = {*grade.failures} | {each.inputs for each in grade.results if each.verdict in BAD}
    return next(case for case in cases if case.name in bad)


def _bisected(case: Case, target: Target, locations: Locations) -> Found:
    found: Bisection = bisected(case, target, locations)
    return {
        "operations": [_operation(each, case.module) for each in found.findings[:TOLD]],
        "cures": [f"{each.name}={each.value}" for each in found.cures],
        "right_without_attributes": found.attributes,
        "not_replayed": list(found.failures),
    }


def _operation(finding: Finding, module: Module) -> Found:
    """Returns a wrong operation with its form: what other modules have it alike with."""
    step = finding.step
    elements, body, form = [element_of(finding.result.type.dtype)], list[str](), ""
    if step is not None:
        types = (*step.operand_types, *step.operation.result_types)
        elements = [*dict.fromkeys(str(getattr(type, "element", type)) for type in types)]
        body = [*dict.fromkeys(_inside(step.operation))]
        form = _form(module, step)
    return finding.document() | {
        "elements": elements,
        "body": body,
        "form": form,
        "together": step is None,
    }


def _inside(operation: Operation) -> Iterator[str]:
    """Yields the names of the operations in the regions of one, but for what ends these."""
    for region in operation.regions:
        for block in region.blocks:
            for each in block.operations[:-1]:
                yield each.name
                yield from _inside(each)


def _form(module: Module, step: Step) -> str:
    """Returns a digest of the module that runs one operation alone."""
    (alone,) = replays(module, [step])
    return hashlib.sha256(str(alone.module).encode()).hexdigest()[:16]


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
