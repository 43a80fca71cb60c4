"""`topos grade`: tells whether a runtime's results are right, element by element."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Final

from topos import judge
from topos.cli._judging import TARGETS, add_judge_arguments, judge_arguments, written
from topos.cli._reporting import DONE, FAILED
from topos.cli._shared import of_file, table
from topos.judge import Grade, ResultGrade, Verdict

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
    status = of_file(chosen.file, lambda text: found.append(_graded(chosen, text)))
    return status if not found else DONE if found[0].passed else FAILED


def _graded(chosen: Namespace, text: str) -> Grade:
    found = judge.grade(text, **judge_arguments(chosen, text))
    written(chosen, found.document())
    print(f"{chosen.runtime}: {found.verdict} (seed {found.seed}, {found.samples} samples)")
    print(found.failure or table(_rows(found), right=frozenset(range(2, 4))))
    return found


def _rows(found: Grade) -> Iterator[tuple[str, ...]]:
    """Yields the headings, then a row for each verdict of each result."""
    yield ("result", "type", "elements", "ill", "verdict", "the worst element")
    for result in found.results:
        name, type = result.name, str(result.type)
        ill = str(result.ill_conditioned or "")
        for verdict, count in reversed(result.counts.items()):
            yield (name, type, str(count), ill, str(verdict), _worst(result) if name else "")
            name = type = ill = ""


def _worst(result: ResultGrade) -> str:
    told = result.worst_told()
    return f"{told} away" if told else ""
