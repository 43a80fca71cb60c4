"""`topos print`: writes StableHLO files back, in pretty or in generic form."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from topos import runtimes
from topos.cli._shared import EXIT, of_file

__all__ = ["EPILOG", "HELP", "add_arguments", "run"]

HELP = "print StableHLO files in pretty form"
EPILOG = f"""\
Reads the pretty and the generic form, with or without locations, and prints the pretty one, or with
--generic the other. Several modules are parted by a line of // -----. They need not pass
verification.

{EXIT}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="a module, - for stdin")
    parser.add_argument(
        "--generic", action="store_true", help="print every operation in generic form"
    )


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    printer = _Printer(chosen.generic)
    return max([of_file(path, printer.take) for path in chosen.files])


class _Printer:
    """What prints one module after the other."""

    def __init__(self, generic: bool) -> None:
        self._generic = generic
        self._separator = ""

    def take(self, text: str) -> None:
        printed = runtimes.printed(text, generic=self._generic)
        print(f"{self._separator}{printed}", end="")
        self._separator = "// -----\n"
