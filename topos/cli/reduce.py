"""`topos reduce`: writes the smallest module found on which a runtime fails, as a bug report."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, Final

from topos import judge
from topos.cli._judging import (
    TARGETS,
    add_inputs,
    add_subject,
    add_target,
    as_json,
    demand_outputs,
    inputs_of,
    of_subject,
    target_of,
    written,
)
from topos.cli._progress import progress
from topos.cli._reporting import DONE, FAILED
from topos.cli._shared import naming, whole
from topos.judge import Reproducer
from topos.judge.manifests import REPRODUCER, demand_place
from topos.judge.reproduction.reproducer import ATTEMPTS

HELP = "write a minimal reproducer of what a runtime computes wrongly, as a bug report"
FOLDER: Final = "reproducer"
EPILOG = f"""\
Bisects the module as `topos bisect` does, and cuts down what is wrong as long as it is wrong in the
same way: operations, elements, digits, arguments. The folder gets module.mlir, args.npz,
expected.npz and report.md, the text of a bug report with the commands of the runtime's own tools;
for XLA and IREE also reproduce.py, which needs no topos. It is written whole or not at all, and
replaces nothing but a reproducer. Where nothing is wrong, nothing is written.

{TARGETS}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    add_subject(parser)
    add_inputs(parser)
    add_target(parser)
    parser.add_argument("--json", metavar="FILE", help="where the reproducer goes as JSON")
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default=FOLDER,
        help="where the reproducer goes (default: %(default)s)",
    )
    parser.add_argument(
        "--attempts",
        metavar="N",
        type=lambda text: whole(text, 1),
        default=ATTEMPTS,
        help="how often the runtime may run after the bisection (default: %(default)s)",
    )


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    found: list[Reproducer | None] = []
    status = of_subject(chosen, lambda subject: found.append(_reduced(chosen, subject)))
    return status if not found else DONE if found[0] is None else FAILED


def _reduced(chosen: Namespace, subject: Any) -> Reproducer | None:
    with naming(chosen.out):
        demand_place(chosen.out, REPRODUCER)
    demand_outputs(chosen.json)
    with progress() as watch:
        found = judge.reduce(
            subject,
            **target_of(chosen),
            **inputs_of(chosen, subject),
            attempts=chosen.attempts,
            watch=watch,
        )
    if found is None:
        print(f"nothing is wrong on {chosen.runtime}, and no reproducer is written")
        written(chosen.json, as_json({"passed": True}))
        return None
    # What was found is printed even where a file takes nothing more.
    try:
        written(chosen.json, as_json({"passed": False, **found.document()}))
        with naming(chosen.out):
            found.save(chosen.out)
    finally:
        print(found)
    print(f"{found.runs} runs after the bisection; the report is {chosen.out}/report.md")
    return found
