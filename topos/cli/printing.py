"""`topos print`: writes StableHLO files back, in pretty or in generic form."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from topos import runtimes
from topos.cli._shared import EXIT, Parted, of_parts

HELP = "print StableHLO files in pretty form"
EPILOG = f"""\
Reads the pretty and the generic form, with or without locations, and prints the pretty one, or with
--generic the other. Several modules, of one file or of many, are parted by a line of // -----, and
read again as such. They need not pass verification.

{EXIT}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="a module, - for stdin")
    parser.add_argument(
        "--generic", action="store_true", help="print every operation in generic form"
    )


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    output = Parted()

    def take(text: str) -> None:
        output.print(runtimes.printed(text, generic=chosen.generic))

    return max([of_parts(path, take) for path in chosen.files])
