"""`topos eval`: runs StableHLO modules on arrays from files, any number in one process."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Final

from topos import runtimes
from topos.cli._arguments import archived
from topos.cli._batch import TOLD, add_batch_argument, demand_paths, serve
from topos.cli._reporting import terminable
from topos.cli._shared import EXIT, add_runtime_arguments, naming, of_file
from topos.errors import ArgumentError
from topos.runtimes._archive import save
from topos.runtimes._runtime import Runtime, isolating

HELP = "run StableHLO files on arrays from files"
EPILOG = f"""\
Each ARGS.npz holds arg0, arg1, ..., one for each argument of @main; RESULTS.npz gets result0,
result1, ... and is written whole or not at all. An element that numpy does not know, such as
bfloat16, is stored as its bits. A module that fails does not stop the ones after it; the status is
the highest of any. The runtime is started once, in a worker process unless it is the interpreter.

{TOLD}

{EXIT}"""
# A module, its arguments, and where its results go.
PATHS: Final = ("MODULE", "ARGS.npz", "RESULTS.npz")


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.usage = f"%(prog)s [options] {' '.join(PATHS)} [{' '.join(PATHS)} ...]"
    parser.add_argument("paths", metavar="PATH", nargs="*", help="module, arguments, results")
    add_batch_argument(parser)
    add_runtime_arguments(parser)


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    demand_paths(chosen.paths, chosen.batch)
    if not chosen.batch:
        _demand_triples(chosen.paths)
    runtime = runtimes.load(chosen.runtime)
    options = {"numerics": chosen.numerics, "options": isolating(runtime)}

    def evaluate(paths: Sequence[str]) -> int:
        _demand_triples(paths)
        modules, arguments, results = (paths[start :: len(PATHS)] for start in range(len(PATHS)))
        jobs = zip(modules, arguments, results, strict=True)
        return max([_evaluate(*job, runtime, options) for job in jobs])

    with terminable():
        return serve(evaluate) if chosen.batch else evaluate(chosen.paths)


def _demand_triples(paths: Sequence[str]) -> None:
    if len(paths) % len(PATHS):
        raise ArgumentError(f"paths come as {' '.join(PATHS)}, got {len(paths)} of them")


def _evaluate(
    module: str, arguments: str, results: str, runtime: Runtime, options: Mapping[str, Any]
) -> int:
    def execute(text: str) -> None:
        executable = runtime.compile(text, **options)
        computed = executable(*archived(arguments, executable.signature.arguments))
        with naming(results):
            save(results, computed, "result")

    return of_file(module, execute)
