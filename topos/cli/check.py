"""`topos check`: verifies a bundle or a module and runs it on runtimes."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from topos import bundle
from topos.cli._arguments import add_argument_sources
from topos.cli._module_check import check_module
from topos.cli._reporting import DONE, FAILED
from topos.cli._shared import add_bundle_arguments, add_compiled, naming
from topos.errors import ArgumentError

HELP = "verify a bundle, or a module, and run it on runtimes"
EPILOG = """\
Holds every file against its digest and every module against its signature, reads the portable
artifact, and runs the sample with the oracle's results. A deviation and its envelope are shares of
the largest magnitude of the oracle's result. A foreign runtime runs in a worker process, and one
that a module ends has FAILED. In anyone's CI:

    topos check BUNDLE --runtime xla

A file, or - for stdin, is a module: it is verified, and run on every runtime with the arguments of
--args, or with some drawn from a seed. A deviation is then a share of the largest magnitude of the
interpreter's exact result, and --within bounds it; without a bound, any deviation passes.

The commands that TOPOS_STABLEHLO_VALIDATOR and TOPOS_STABLEHLO_EVALUATOR name judge as well, such
as "topos validate" and "topos eval --runtime xla". They get nothing that topos refuses.

exit status: 0 all holds; 1 the bundle or module is refused, a result is outside its envelope, or a
runtime failed; 2 wrong usage, no such file or folder, or a runtime that is named and not ready
here; 130 interrupted.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    add_bundle_arguments(parser, "the folder of an exported model, or a module in a file or stdin")
    add_compiled(parser)
    add_argument_sources(parser, seed=0, of="of a module: ")
    parser.add_argument(
        "--within",
        metavar="SHARE",
        type=float,
        help="of a module: fail where a result deviates by more than this",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    if chosen.bundle == "-" or os.path.isfile(chosen.bundle):
        return check_module(chosen)
    with naming(chosen.bundle):
        os.stat(chosen.bundle)
    if chosen.args is not None or chosen.extent is not None:
        needs = "--args and --extent need a module in a file"
        raise ArgumentError(f"{chosen.bundle}: {needs}, got the folder of a bundle")
    found = bundle.check(
        chosen.bundle,
        chosen.runtime,
        numerics=chosen.numerics,
        isolated=True,
        compiled=chosen.compiled,
    )
    with TemporaryDirectory(prefix="topos-check-") as folder:
        named = bundle.named_verdicts(os.environ, found, Path(folder))
    found = found._replace(verdicts=(*found.verdicts, *named))
    print(json.dumps(found.document(), indent=2) if chosen.json else found)
    return DONE if found.passed else FAILED
