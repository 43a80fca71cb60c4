"""`topos validate`: parses and verifies StableHLO files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from topos import runtimes
from topos.cli._batch import TOLD, add_batch_argument, demand_paths, serve
from topos.cli._reporting import DONE
from topos.cli._shared import EXIT, of_parts

HELP = "parse and verify StableHLO files"
EPILOG = f"""\
A valid file is one line on standard output. A fault is told on standard error as
FILE:LINE:COLUMN: REASON, followed by the line and a caret. A file may hold several modules, parted
by lines of // -----. Only the base installation is needed.

{TOLD}

{EXIT}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="a module, - for stdin")
    add_batch_argument(parser)


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    demand_paths(chosen.files, chosen.batch)
    return serve(_check_all) if chosen.batch else _check_all(chosen.files)


def _check_all(paths: Sequence[str]) -> int:
    return max(map(_check, paths))


def _check(path: str) -> int:
    status = of_parts(path, runtimes.verify)
    if status == DONE:
        print(f"{path}: valid")
    return status
