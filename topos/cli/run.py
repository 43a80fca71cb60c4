"""`topos run`: runs a StableHLO module on any runtime."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import numpy as np
import numpy.typing as npt

from topos import runtimes
from topos.cli._drawn import EXTENT, drawn
from topos.cli._reporting import UNUSABLE, complain
from topos.cli._shared import EXIT, add_runtime_arguments, naming, of_file, whole
from topos.errors import ArgumentError
from topos.runtimes._archive import load, save
from topos.runtimes._runtime import ArrayType, Executable, Runtime, isolating

__all__ = ["EPILOG", "HELP", "add_arguments", "run"]

Array = npt.NDArray[Any]

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
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--args", metavar="A.npz", help="the arguments")
    source.add_argument(
        "--random", metavar="SEED", type=whole, help="arguments drawn from this seed instead"
    )
    parser.add_argument(
        "--extent",
        metavar="N",
        type=whole,
        default=EXTENT,
        help="what --random makes each extent that @main leaves open (default: %(default)s)",
    )
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
        complain(f"--max-steps needs --runtime interpreter, got {chosen.runtime}")
        return UNUSABLE
    # The worker of a foreign runtime starts while the file is read.
    options = isolating(runtime)
    if chosen.max_steps is not None:
        options["max_steps"] = chosen.max_steps
    return of_file(chosen.file, lambda text: _execute(chosen, runtime, options, text))


def _execute(chosen: Namespace, runtime: Runtime, options: dict[str, Any], text: str) -> None:
    executable = runtime.compile(text, numerics=chosen.numerics, options=options)
    results = executable(*_arguments(chosen, executable))
    if chosen.out is not None:
        with naming(chosen.out):
            save(chosen.out, results, "result")
        return
    for position, result in enumerate(results):
        print(f"result{position}: {ArrayType(result.shape, result.dtype)}\n{result}")


def _arguments(chosen: Namespace, executable: Executable) -> list[Array]:
    types = executable.signature.arguments
    if chosen.args is not None:
        with naming(chosen.args):
            return load(chosen.args, types, "arg")
    if chosen.random is not None:
        generator = np.random.default_rng(chosen.random)
        return [drawn(generator, type, chosen.extent) for type in types]
    if types:
        wanted = ", ".join(f"arg{position}: {type}" for position, type in enumerate(types))
        raise ArgumentError(f"@main takes {wanted}; give them with --args or --random")
    return []
