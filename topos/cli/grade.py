"""`topos grade`: tells whether a runtime's results are right, element by element."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, Final

from topos import judge
from topos.cli._judging import (
    TARGETS,
    add_judge_arguments,
    as_json,
    inputs_of,
    of_subject,
    target_of,
    written,
)
from topos.cli._reporting import DONE, FAILED
from topos.cli._shared import table
from topos.judge import Grade, ResultGrade, Verdict
from topos.judge.graded_page import graded_page

HELP = "tell whether a runtime's results for a module are right"
VERDICTS: Final = ", ".join(str(verdict) for verdict in Verdict)
EPILOG = f"""\
The oracle runs the module exactly, and again with the rounding that a sound runtime may add; each
element of the runtime's results is held against these samples. The verdicts, from good to bad:
{VERDICTS}. What is ill-conditioned has no two digits that rounding leaves alone.

{TARGETS}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    add_judge_arguments(parser)


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    found: list[Grade] = []
    status = of_subject(chosen, lambda subject: found.append(_graded(chosen, subject)))
    return status if not found else DONE if found[0].passed else FAILED


def _graded(chosen: Namespace, subject: Any) -> Grade:
    found = judge.grade(subject, **target_of(chosen), **inputs_of(chosen, subject))
    written(chosen.json, as_json(found.document()))
    written(chosen.html, graded_page(f"Grade of {chosen.file}", [found]))
    print(f"{chosen.runtime}: {found.verdict} (seed {found.seed}, {found.samples} samples)")
    for inputs, reason in found.failures.items():
        print(f"failed for {inputs} inputs: {reason}")
    if found.results:
        print(table(_rows(found), right=frozenset({3, 4})))
    return found


def _rows(found: Grade) -> Iterator[tuple[str, ...]]:
    """Yields the headings, then a row for each verdict of each result."""
    yield ("inputs", "result", "type", "elements", "ill", "verdict", "the worst element")
    before = ""
    for result in found.results:
        inputs = result.inputs if result.inputs != before else ""
        name, type, before = result.name, str(result.type), result.inputs
        ill = str(result.ill_conditioned or "")
        for verdict, count in reversed(result.counts.items()):
            worst = _worst(result) if name else ""
            yield (inputs, name, type, str(count), ill, str(verdict), worst)
            inputs = name = type = ill = ""


def _worst(result: ResultGrade) -> str:
    told = result.worst_told()
    return f"{told} away" if told else ""
