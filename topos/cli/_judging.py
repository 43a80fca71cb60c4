"""What the commands of the judge share: the module's arguments, the runtime, and JSON."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from topos import runtimes
from topos.cli._arguments import add_argument_sources, arguments_of
from topos.cli._shared import naming, whole
from topos.engine import Numerics

TARGETS: Final = """\
R is the name of a runtime, or a command line, called as R MODULE ARGS.npz RESULTS.npz with the
names of `topos run`. A runtime runs in a process of its own.

exit status: 0 nothing is wrong or suspect; 1 something is, the runtime failed, or the module is
refused; 2 wrong usage, an unreadable file, or something that this installation lacks; 130
interrupted.
"""


def add_judge_arguments(parser: ArgumentParser) -> None:
    """Adds the module of a command, its arguments, and the runtime that is judged."""
    parser.add_argument("file", metavar="FILE", help="a module with @main, - for stdin")
    add_argument_sources(parser, seed=0)
    parser.add_argument(
        "--seed", metavar="N", type=whole, default=0, help="of the samples (default: %(default)s)"
    )
    parser.add_argument(
        "--runtime",
        metavar="R",
        default="xla",
        help=f"one of {', '.join(runtimes.names())}, or a command (default: %(default)s)",
    )
    parser.add_argument(
        "--numerics",
        choices=[each.value for each in Numerics],
        default=Numerics.FAST.value,
        help="of a runtime that has a name (default: %(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="where the verdicts go as JSON")


def judge_arguments(chosen: Namespace, text: str) -> dict[str, Any]:
    """Returns the arguments of `judge.grade` and `judge.bisect` that a command line gives."""
    types = runtimes.load("interpreter").compile(text).signature.arguments
    return {
        "runtime": chosen.runtime,
        "arguments": arguments_of(chosen, types),
        "seed": chosen.seed,
        "numerics": chosen.numerics,
    }


def written(chosen: Namespace, document: Mapping[str, Any]) -> None:
    """Writes a document where the command line says, if it does."""
    if chosen.json is not None:
        with naming(chosen.json):
            Path(chosen.json).write_text(json.dumps(document, indent=2) + "\n")
