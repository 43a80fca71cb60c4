"""Evaluates StableHLO modules on arrays from files, through XLA unless told otherwise.

Takes any number of triples and pays the start of the runtime once.
"""

from __future__ import annotations

import argparse
import sys

from topos.engine import Numerics
from topos.runtimes import names
from topos.runtimes._command import Job, run

EPILOG = """\
Each ARGS.npz holds arg0, arg1, ..., one for each argument of @main; RESULTS.npz gets result0,
result1, ... and is written whole or not at all. bfloat16 is stored as uint16: its bits. A module
that fails does not stop the ones after it.

exit status: 0 all done; 1 a module or its run failed; 2 wrong usage, an unreadable file, or a
runtime that this installation lacks.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line, runs every triple, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        usage="%(prog)s [options] MODULE ARGS.npz RESULTS.npz [MODULE ARGS.npz RESULTS.npz ...]",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="module, arguments, results")
    parser.add_argument("--runtime", choices=names(), default="xla", help="default: %(default)s")
    parser.add_argument(
        "--numerics",
        choices=[each.value for each in Numerics],
        default=Numerics.EXACT.value,
        help="exact: round every operation for itself; fast: what the runtime does by itself "
        "(default: %(default)s)",
    )
    chosen = parser.parse_args(arguments)
    if len(chosen.paths) % 3:
        parser.error(f"paths come as MODULE ARGS.npz RESULTS.npz, got {len(chosen.paths)} of them")
    jobs = [Job(*chosen.paths[start : start + 3]) for start in range(0, len(chosen.paths), 3)]
    return run(jobs, chosen.runtime, Numerics(chosen.numerics))


if __name__ == "__main__":
    sys.exit(main())
