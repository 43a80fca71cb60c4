"""`topos ops`: what a StableHLO file computes, counted without running it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from topos import runtimes
from topos.cli._shared import EXIT, Parted, of_parts, table

HELP = "count the operations of a StableHLO file"
EPILOG = f"""\
An operation of a function counts once for each call, one of a loop's body once in all: how often
it turns is not in the text. Of the branches of an `if` or a `case` only the one with the most
flops counts. Flops: 2 for each term of a product or convolution, 1 for each element of a
floating-point operation. A reduction applies its body once for each element that it combines:
`reduce` the elements of its operand, `reduce_window` those of every window, `scatter` those of the
updates. A sort along an axis of n compares ceil(log2(n)) times for each element.
Of a file whose modules are parted by lines of // -----, each is counted.

{EXIT}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("file", metavar="FILE", help="a module with @main, - for stdin")


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    output = Parted()
    return of_parts(chosen.file, lambda text: output.print(_counted(text)))


def _counted(text: str) -> str:
    found = runtimes.cost_analysis(text)
    lines = [
        f"arguments  {', '.join(found.arguments) or 'none'}",
        f"results    {', '.join(found.results) or 'none'}",
        f"constants  {found.constant_bytes:,} bytes",
    ]
    if found.open_runs:
        lines.append(
            f"open       {found.open_runs:,} of the runs, with an extent that counts as none"
        )
    rows = [
        (each.name, f"{each.runs:,}", f"{each.flops:,}", " ".join(each.elements))
        for each in (*found.operations, found.total)
    ]
    counts = table([("operation", "runs", "flops", "elements"), *rows], frozenset({1, 2}))
    return "\n".join([*lines, "", counts, ""])
