"""`topos record`: writes a case for a runtime on another machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from topos import judge
from topos.cli._judging import add_inputs, add_subject, inputs_of, of_subject
from topos.cli._shared import EXIT, naming
from topos.judge.manifests import MANIFEST, digest

HELP = "write a module with the oracle's results, to judge a runtime elsewhere"
EPILOG = f"""\
The folder gets module.mlir, args.npz, the oracle's results as expected.npz, the first samples as
samples.npz, and a manifest with the digest of each. It is written whole or not at all, and replaces
nothing but a case. A runtime elsewhere takes module.mlir and args.npz; what it returns as result0,
result1, ... of an archive is held against the case by `topos judge`.

{EXIT}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    add_subject(parser)
    add_inputs(parser)
    parser.add_argument(
        "--out", metavar="CASE", required=True, help="the folder that the case is written to"
    )


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    return of_subject(chosen, lambda subject: _recorded(chosen, subject))


def _recorded(chosen: Namespace, subject: Any) -> None:
    with naming(chosen.out):
        case = judge.record(subject, chosen.out, **inputs_of(chosen, subject))
    digest_of_all = digest(Path(chosen.out) / MANIFEST)[:12]
    counts = f"arguments: {len(case.arguments)}, results: {len(case.results)}"
    drawn = f"samples: {case.samples} of seed {case.seed}"
    print(f"{chosen.out}: {counts}, {drawn}; digest {digest_of_all}")
