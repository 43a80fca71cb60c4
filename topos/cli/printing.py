"""`topos print`: writes a StableHLO file back in pretty form."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from topos import runtimes
from topos.cli._shared import EXIT, of_file

__all__ = ["EPILOG", "HELP", "add_arguments", "run"]

HELP = "print a StableHLO file in pretty form"
EPILOG = f"""\
Reads the pretty and the generic form, with or without locations, and prints the pretty one. The
module need not pass verification.

{EXIT}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("file", metavar="FILE", help="a module, - for stdin")


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    return of_file(chosen.file, _print)


def _print(text: str) -> None:
    print(runtimes.printed(text), end="")
