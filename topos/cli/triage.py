"""`topos triage`: tells the faults of a runtime that a whole folder of modules shows."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from topos import judge
from topos.cli._judging import RUNTIMES, add_inputs, add_target, as_json, target_of, written
from topos.cli._limits import seconds_above_zero
from topos.cli._progress import progress
from topos.cli._reporting import DONE, FAILED, status_of, terminable
from topos.cli._shared import table, whole
from topos.judge import Triage
from topos.judge.command import SECONDS
from topos.judge.triaging.report import RIGHT, html, markdown, rows_of, summary

HELP = "tell the faults of a runtime that a folder of modules shows"
EPILOG: Final = f"""\
Every module of the folder and those in it is graded in a worker process of its own, and bisected
where it does not pass. A runtime that crashes, hangs, or takes too much memory costs one module.
Modules that are wrong in the same way are one fault. The arguments of NAME.mlir are those of
NAME.npz beside it, or drawn.

What is found goes to OUT/found.jsonl at once, and a run that was ended does only the rest when it
is started again. OUT has triage.md, triage.json and triage.html at the end.

{RUNTIMES}
exit status: 0 nothing is wrong or suspect; 1 something is, or the runtime failed; 2 wrong usage, a
folder that is not there, or something that this installation lacks; 130 interrupted.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the modules")
    add_inputs(parser, archive=False)
    add_target(parser)
    parser.add_argument(
        "--out", metavar="OUT", help="the folder of what is found (default: FOLDER.triage)"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_jobs, default=1, help="workers at once (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=seconds_above_zero,
        default=SECONDS,
        help="seconds to grade a module, and as many to bisect it (default: %(default)g)",
    )
    parser.add_argument(
        "--memory",
        metavar="MIB",
        type=_memory,
        help="of each process (default: the machine's by the number of jobs)",
    )


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    found: list[Triage] = []

    def report() -> int:
        found.append(_triaged(chosen))
        return DONE

    with terminable():
        status = status_of(report)
    return status if not found else DONE if found[0].passed else FAILED


def _triaged(chosen: Namespace) -> Triage:
    folder = Path(chosen.folder)
    out = Path(chosen.out or folder.resolve().with_name(f"{folder.resolve().name}.triage"))
    with progress() as watch:
        found = judge.triage(
            folder,
            **target_of(chosen),
            out=out,
            inputs=chosen.inputs,
            extent=chosen.extent,
            seed=chosen.seed,
            jobs=chosen.jobs,
            seconds=chosen.timeout,
            memory=chosen.memory,
            watch=watch,
        )
    written(str(out / "triage.json"), as_json(found.document()))
    written(str(out / "triage.md"), markdown(found))
    written(str(out / "triage.html"), html(found))
    print(summary(found))
    if found.faults:
        print(table(rows_of(found), right=RIGHT))
        print(*(found.command(each.modules[0]) for each in found.faults), sep="\n")
    for name, reason in found.refused.items():
        print(f"refused: {name}: {' '.join(reason.split())}")
    print(f"written: {out / 'triage.md'}, triage.json and triage.html")
    return found


def _jobs(text: str) -> int:
    return whole(text, 1, 1024)


def _memory(text: str) -> int:
    return whole(text, 64)
