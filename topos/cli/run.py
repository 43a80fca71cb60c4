"""`topos run`: runs a StableHLO module on any runtime."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from topos import runtimes
from topos.cli._arguments import add_argument_sources, arguments_of, called
from topos.cli._shared import EXIT, add_runtime_arguments, naming, of_file, whole
from topos.errors import ArgumentError
from topos.runtimes._archive import save
from topos.runtimes._runtime import Runtime, isolating
from topos.runtimes._signature import ArrayType

HELP = "run a StableHLO file"
EPILOG = f"""\
A.npz holds arg0, arg1, ..., one for each argument of @main; R.npz gets result0, result1, ... and
is written whole or not at all. An element that numpy does not know, such as bfloat16, is stored as
its bits. Without --out the results are printed. A runtime other than the interpreter runs in a
worker process: a module that ends it is told with the signal.

{EXIT}"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("file", metavar="FILE", help="a module with @main, - for stdin")
    add_argument_sources(parser, seed=None)
    parser.add_argument("--out", metavar="R.npz", help="where the results go")
    add_runtime_arguments(parser)
    parser.add_argument(
        "--max-steps",
        metavar="N",
        type=whole,
        help="stop the interpreter after N turns of loops and calls",
    )


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    runtime = runtimes.load(chosen.runtime)
    if chosen.max_steps is not None and runtime.worker is not None:
        raise ArgumentError(f"--max-steps needs --runtime interpreter, got {chosen.runtime}")
    # The worker of a foreign runtime starts while the file is read.
    options = isolating(runtime)
    if chosen.max_steps is not None:
        options["max_steps"] = chosen.max_steps
    return of_file(chosen.file, lambda text: _execute(chosen, runtime, options, text))


def _execute(chosen: Namespace, runtime: Runtime, options: dict[str, Any], text: str) -> None:
    executable = runtime.compile(text, numerics=chosen.numerics, options=options)
    arguments = arguments_of(chosen, executable.signature.arguments)
    results = called(chosen, executable, arguments)
    if chosen.out is not None:
        with naming(chosen.out):
            save(chosen.out, results, "result")
        return
    for position, result in enumerate(results):
        print(f"result{position}: {ArrayType(result.shape, result.dtype)}\n{result}")
