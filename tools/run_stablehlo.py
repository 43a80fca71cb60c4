"""Runs a StableHLO module on arrays from a file, on any runtime."""

from __future__ import annotations

import argparse
import sys

from topos.engine import Numerics
from topos.runtimes import names
from topos.runtimes._command import Job, run

EPILOG = """\
ARGS.npz holds arg0, arg1, ..., one for each argument of @main; RESULTS.npz gets result0, result1,
... and is written whole or not at all. bfloat16 is stored as uint16: its bits.

exit status: 0 done; 1 the module or its run failed; 2 wrong usage, an unreadable file, or a runtime
that this installation lacks.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line, runs the module, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("module", metavar="MODULE", help="StableHLO text with a function @main")
    parser.add_argument("arguments", metavar="ARGS.npz", help="the arguments")
    parser.add_argument("results", metavar="RESULTS.npz", help="where the results go")
    parser.add_argument(
        "--runtime", choices=names(), default="interpreter", help="default: %(default)s"
    )
    parser.add_argument(
        "--numerics",
        choices=[each.value for each in Numerics],
        default=Numerics.EXACT.value,
        help="exact: round every operation for itself; fast: what the runtime does by itself "
        "(default: %(default)s)",
    )
    chosen = parser.parse_args(arguments)
    job = Job(chosen.module, chosen.arguments, chosen.results)
    return run([job], chosen.runtime, Numerics(chosen.numerics))


if __name__ == "__main__":
    sys.exit(main())
