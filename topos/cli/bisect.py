"""`topos bisect`: names the operations that a runtime computes wrongly."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from topos import judge
from topos.cli._judging import (
    TARGETS,
    add_judge_arguments,
    as_json,
    demand_outputs,
    inputs_of,
    of_subject,
    target_of,
    written,
)
from topos.cli._progress import progress
from topos.cli._reporting import DONE, FAILED
from topos.judge import Bisection
from topos.judge.pages.grades import bisected_page

HELP = "name the operations of a module that a runtime computes wrongly"
EPILOG = f"""\
Grades the module, and then every operation of it alone, with the operands that the oracle gave it;
those in private functions and loops too. Where the module is wrong, it is graded without its
attributes as well, and on XLA without some passes, to tell what makes it right.

{TARGETS}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    add_judge_arguments(parser)


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    found: list[Bisection] = []
    status = of_subject(chosen, lambda subject: found.append(_bisected(chosen, subject)))
    return status if not found else DONE if found[0].passed else FAILED


def _bisected(chosen: Namespace, subject: Any) -> Bisection:
    demand_outputs(chosen.json, chosen.html)
    with progress() as watch:
        found = judge.bisect(
            subject, **target_of(chosen), **inputs_of(chosen, subject), watch=watch
        )
    # What was found is printed even where a file takes nothing more.
    try:
        written(chosen.json, as_json(found.document()))
        written(chosen.html, bisected_page(f"Bisection of {chosen.file}", found))
    finally:
        print(found)
    return found
