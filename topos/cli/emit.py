"""`topos emit`: writes a plan as a StableHLO module, in any of its forms."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from topos.bundle.emitted import FORMS, emitted
from topos.bundle.portable import version_of
from topos.cli._reporting import DONE, UNUSABLE, complain, status_of
from topos.cli._shared import naming
from topos.cli._target import of_target, planned
from topos.engine import Plan

HELP = "write a plan as a StableHLO module"
EPILOG = """\
TARGET names a plan, or a function without arguments that returns one:

    topos emit model.py:plan                                    # text on standard output
    topos emit model.py:plan -o model.mlirbc --form artifact --version 1.9.0

text and generic are MLIR text, bytecode is MLIR's binary form, and artifact is StableHLO's own,
which readers of --version and of every later one take. In another form, --version makes sure that
this version has all that is in the module. Both binary forms and --version need jaxlib.

exit status: 0 done; 1 the plan cannot be written so, or its own code failed; 2 wrong usage, a
TARGET that names no plan, a FILE that cannot be written, or something that this installation
lacks; 130 interrupted.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument(
        "target", metavar="TARGET", help="package.module:name or path/to/file.py:name"
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="where to (default: standard output)")
    parser.add_argument("--form", choices=FORMS, default=FORMS[0], help="default: %(default)s")
    parser.add_argument(
        "--version",
        metavar="X.Y.Z",
        help="the StableHLO version to write for, such as 1.13.7, or current, week-4, week-12, max "
        "(default of an artifact: week-12)",
    )


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    if chosen.version is not None:
        # The user's own code may take its time, which is lost on a version that there is none of.
        version_of(chosen.version)
    if chosen.out is None and chosen.form in FORMS[2:] and _is_terminal():
        complain("a binary form does not go to a terminal; name a file with -o")
        return UNUSABLE
    return of_target(chosen.target, planned, lambda plan: _emit(chosen, plan))


def _emit(chosen: Namespace, plan: Plan) -> int:
    def write() -> int:
        module = emitted(plan.emit_stablehlo(), chosen.form, chosen.version)
        data = module.encode() if isinstance(module, str) else module
        if chosen.out is None:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        else:
            with naming(chosen.out):
                Path(chosen.out).write_bytes(data)
        return DONE

    return status_of(write, chosen.target)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
