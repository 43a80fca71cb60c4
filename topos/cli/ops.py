"""`topos ops`: what a StableHLO file computes, counted without running it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from topos import runtimes
from topos.cli._shared import EXIT, of_file, table

__all__ = ["EPILOG", "HELP", "add_arguments", "run"]

HELP = "count the operations of a StableHLO file"
EPILOG = f"""\
An operation of a function counts once for each call, one of a loop's body once in all: how often
it turns is not in the text. Of the branches of an `if` or a `case` only the one with the most
flops counts. Flops: 2 for each term of a product or convolution, 1 for each element of a
floating-point operation. A reduction applies its body once for each element that it combines:
`reduce` the elements of its operand, `reduce_window` those of every window, `scatter` those of the
updates. A sort along an axis of n compares ceil(log2(n)) times for each element.

{EXIT}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("file", metavar="FILE", help="a module with @main, - for stdin")


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    return of_file(chosen.file, _print)


def _print(text: str) -> None:
    found = runtimes.cost_analysis(text)
    print(f"arguments  {', '.join(found.arguments) or 'none'}")
    print(f"results    {', '.join(found.results) or 'none'}")
    print(f"constants  {found.constant_bytes:,} bytes")
    if found.open_runs:
        print(f"open       {found.open_runs:,} of the runs, with an extent that counts as none")
    print()
    rows = [
        (each.name, f"{each.runs:,}", f"{each.flops:,}", " ".join(each.elements))
        for each in (*found.operations, found.total)
    ]
    print(table([("operation", "runs", "flops", "elements"), *rows], frozenset({1, 2})))
