"""`topos grade`: tells whether a runtime's results are right, element by element."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from topos import judge, runtimes
from topos.cli._arguments import add_argument_sources, arguments_of
from topos.cli._reporting import DONE, FAILED
from topos.cli._shared import naming, of_file, table, whole
from topos.engine import Numerics
from topos.judge import Grade, ResultGrade, Verdict

__all__ = ["EPILOG", "HELP", "add_arguments", "run"]

HELP = "tell whether a runtime's results for a module are right"
VERDICTS: Final = ", ".join(str(verdict) for verdict in Verdict)
EPILOG = f"""\
The oracle runs the module exactly, and again with the rounding that a sound runtime may add; each
element of the runtime's results is held against these samples. The verdicts, from good to bad:
{VERDICTS}. What is ill-conditioned has no two digits that rounding leaves alone.

R is the name of a runtime, or a command line, called as R MODULE ARGS.npz RESULTS.npz with the
names of `topos run`. A runtime runs in a process of its own.

exit status: 0 nothing is wrong or suspect; 1 something is, the runtime failed, or the module is
refused; 2 wrong usage, an unreadable file, or something that this installation lacks; 130
interrupted.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("file", metavar="FILE", help="a module with @main, - for stdin")
    add_argument_sources(parser, seed=0)
    parser.add_argument(
        "--seed", metavar="N", type=whole, default=0, help="of the samples (default: %(default)s)"
    )
    parser.add_argument(
        "--runtime",
        metavar="R",
        default="xla",
        help=f"one of {', '.join(runtimes.names())}, or a command (default: %(default)s)",
    )
    parser.add_argument(
        "--numerics",
        choices=[each.value for each in Numerics],
        default=Numerics.FAST.value,
        help="of a runtime that has a name (default: %(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="where the verdicts go as JSON")


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    found: list[Grade] = []
    status = of_file(chosen.file, lambda text: found.append(_graded(chosen, text)))
    return status if not found else DONE if found[0].passed else FAILED


def _graded(chosen: Namespace, text: str) -> Grade:
    oracle = runtimes.load("interpreter").compile(text)
    arguments = arguments_of(chosen, oracle.signature.arguments)
    found = judge.grade(text, chosen.runtime, arguments, seed=chosen.seed, numerics=chosen.numerics)
    if chosen.json is not None:
        with naming(chosen.json):
            Path(chosen.json).write_text(json.dumps(found.document(), indent=2) + "\n")
    print(f"{chosen.runtime}: {found.verdict} (seed {found.seed}, {found.samples} samples)")
    print(found.failure or table(_rows(found), right=frozenset(range(2, 4))))
    return found


def _rows(found: Grade) -> Iterator[tuple[str, ...]]:
    """Yields the headings, then a row for each verdict of each result."""
    yield ("result", "type", "elements", "ill", "verdict", "the worst element")
    for result in found.results:
        name, type = result.name, str(result.type)
        ill = str(int(result.judgement.ill_conditioned.sum()) or "")
        for verdict, count in reversed(result.counts.items()):
            yield (name, type, str(count), ill, str(verdict), _worst(result) if name else "")
            name = type = ill = ""


def _worst(result: ResultGrade) -> str:
    place = result.worst
    if place is None:
        return ""
    got, expected = result.result[place], result.oracle[place]
    spreads = f"{result.judgement.distances[place]:.3g} spreads away"
    return f"{list(place)}: got {got}, the oracle has {expected}, {spreads}"
