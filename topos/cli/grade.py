"""`topos grade`: tells whether a runtime's results are right, element by element."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any, Final

from topos import judge
from topos.cli._grades import tell
from topos.cli._judging import (
    RUNTIME,
    TARGETS,
    add_judge_arguments,
    as_json,
    demand_outputs,
    inputs_of,
    of_subject,
    written,
)
from topos.cli._progress import progress
from topos.cli._reporting import DONE, FAILED
from topos.judge import Grade, Verdict
from topos.judge.grading import graded
from topos.judge.pages.grades import graded_page
from topos.judge.target import Target

HELP = "tell whether a runtime's results for a module are right"
# Only of one operation, in `topos bisect`, is what is wrong found to be imprecise.
VERDICTS: Final = fill(
    ", ".join(str(verdict) for verdict in Verdict if verdict is not Verdict.IMPRECISE), 100
)
EPILOG = f"""\
The oracle runs the module exactly, and again with the rounding that a sound runtime may add; each
element of the runtime's results is held against these samples. The verdicts, from good to bad:
{VERDICTS}.

A spread is how far rounding moves the element: the root mean square distance of the samples from
the oracle's number. Up to 5 spreads are rounding, more than 10 are wrong. The column `ill` counts
ill-conditioned elements: rounding leaves no two digits of them, so they say little of the runtime.

{TARGETS}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    add_judge_arguments(parser, several=True)


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    found: list[Grade] = []
    status = of_subject(chosen, lambda subject: found.extend(_graded(chosen, subject)))
    return status if not found else DONE if all(each.passed for each in found) else FAILED


def _graded(chosen: Namespace, subject: Any) -> list[Grade]:
    demand_outputs(chosen.json, chosen.html)
    targets = [
        Target(runtime, chosen.numerics, dict(chosen.option))
        for runtime in chosen.runtime or [RUNTIME]
    ]
    with progress() as watch:
        # The oracle and its samples run once for all of the runtimes.
        cases = [*judge.cases_of(subject, **inputs_of(chosen, subject))]
        found = [graded(cases, target, chosen.seed, watch=watch) for target in targets]
    # What was found is printed even where a file takes nothing more.
    try:
        written(chosen.json, as_json(_document(found)))
        written(chosen.html, graded_page(f"Grade of {chosen.file}", found))
    finally:
        for each in found:
            tell(each)
    return found


def _document(found: Sequence[Grade]) -> Mapping[str, Any]:
    """Returns the one grade, or several of them and whether all passed."""
    if len(found) == 1:
        return found[0].document()
    passed = all(each.passed for each in found)
    return {"passed": passed, "grades": [each.document() for each in found]}
