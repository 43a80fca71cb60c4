"""Prints the table of what the foreign runtimes get wrong, and runs its modules on them bare.

The faults are the data of tools/faults: a file a runtime, an entry a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.runtimes import ArrayType, ModuleSignature

EPILOG = """\
exit status: 0 done; 1 the file has another table than the one printed; 2 wrong usage, or a file
that cannot be read.
"""
FOLDER: Final = Path(__file__).with_suffix("")
RUNTIMES: Final = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
START: Final = "<!-- The table of tools/faults.py starts here. -->"
END: Final = "<!-- The table of tools/faults.py ends here. -->"
HEAD: Final = ["| runtime | what it gets wrong | seen in | the adapter |", "|---|---|---|---|"]

Array = npt.NDArray[Any]
Ran = tuple[ModuleSignature, list[Array]]


class Fault(NamedTuple):
    """A module that a runtime gets wrong.

    Of `rewritten`, `refused` and `isolated` one stands: how the adapter makes the module right, the
    start of the error that it raises, or why it leaves a death to the worker process. Without
    `results` the module has none that are right. `numerics` are the postures to run it in.
    """

    fault: str
    seen: str
    module: str
    arguments: Sequence[Any] = ()
    results: Sequence[Any] | None = None
    rewritten: str = ""
    refused: str = ""
    isolated: str = ""
    numerics: Sequence[str] = ("fast",)


class Outcome(NamedTuple):
    """What a bare runtime did with a module: the right results or others, its error, its death."""

    right: bool = False
    results: str = ""
    error: str = ""
    death: str = ""


def main(arguments: list[str] | None = None) -> int:
    """Prints what was asked for; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", metavar="FILE", type=Path, help="compare with a page's table")
    parser.add_argument("--raw", choices=RUNTIMES, help="run a runtime's modules past its adapter")
    chosen = parser.parse_args(arguments)
    if chosen.raw is not None:
        for name, outcome in outcomes(chosen.raw):
            print(json.dumps({"name": name, **outcome._asdict()}), flush=True)
        return 0
    table = "\n".join(rows())
    if chosen.check is None:
        print(table)
        return 0
    try:
        page = chosen.check.read_text(encoding="utf-8")
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    if table == page.partition(START)[2].partition(END)[0].strip():
        return 0
    print(f"{chosen.check} has another table than {parser.prog} prints", file=sys.stderr)
    return 1


def faults(runtime: str) -> dict[str, Fault]:
    """Returns the faults of a runtime by their names."""
    entries = tomllib.loads((FOLDER / f"{runtime}.toml").read_text(encoding="utf-8"))
    return {name: Fault(**entry) for name, entry in entries.items()}


def rows() -> Iterator[str]:
    """Yields the lines of the table."""
    yield from HEAD
    for runtime in RUNTIMES:
        for each in faults(runtime).values():
            done = f"rewritten: {each.rewritten}" if each.rewritten else "refused"
            done = f"in a worker alone: {each.isolated}" if each.isolated else done
            yield f"| `{runtime}` | {each.fault} | {each.seen} | {done} |"


def is_needed(fault: Fault, outcome: Outcome) -> bool:
    """Returns whether the bare runtime is still wrong: what is refused it may refuse itself."""
    return not outcome.right and not (fault.refused and outcome.error)


def arrays(values: Sequence[Any], types: Sequence[ArrayType]) -> list[Array]:
    """Returns the arrays of an entry: a complex number is a pair, "iota" counts from zero."""
    made = []
    for value, (shape, dtype) in zip(values, types, strict=True):
        if value == "iota":
            made.append(np.arange(prod(shape)).reshape(shape).astype(dtype))
        elif dtype.kind == "c":
            pairs = np.array(value, np.float64)
            made.append(pairs.view(np.complex128).astype(dtype).reshape(shape))
        else:
            made.append(np.array(value, dtype).reshape(shape))
    return made


def raw(runtime: str) -> dict[str, Outcome]:
    """Returns what the bare `runtime` does with each of its modules, in processes of its own."""
    program = [sys.executable, __file__, "--raw", runtime]
    told = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    lines = [json.loads(line) for line in told.splitlines()]
    return {line.pop("name"): Outcome(**line) for line in lines}


def outcomes(runtime: str) -> Iterator[tuple[str, Outcome]]:
    """Yields the outcome of each module of `runtime`: a death costs its own alone."""
    bare: Any = {"iree": _iree, "reference": _reference, "xla": _xla}[runtime]()
    left = [*faults(runtime).items()]
    while left:
        told, status = _forked(bare, left)
        for (name, _), line in zip(left, told, strict=False):
            yield name, Outcome(**json.loads(line))
        left = left[len(told) :]
        if left:
            number = os.waitstatus_to_exitcode(status)
            death = signal.Signals(-number).name if number < 0 else f"status {number}"
            yield left.pop(0)[0], Outcome(death=death)


def _forked(bare: Any, left: Sequence[tuple[str, Fault]]) -> tuple[list[str], int]:
    """Returns the outcomes of a fork of this process, until it ends, and how it ended."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        with os.fdopen(writing, "w") as told:
            for _, each in left:
                told.write(json.dumps(_outcome(bare, each)._asdict()) + "\n")
                told.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        lines = told.read().splitlines()
    return lines, os.waitpid(process, 0)[1]


def _outcome(bare: Any, each: Fault) -> Outcome:
    try:
        types, results = bare(each)
    # Each runtime has exceptions of its own.
    except Exception as error:
        return Outcome(error=f"{type(error).__name__}: {error}".partition("\n")[0])
    right = [] if each.results is None else arrays(each.results, types.results)
    bits, wanted = (
        [(one.shape, one.dtype, one.tobytes()) for one in some] for some in (results, right)
    )
    return Outcome(bits == wanted, str([one.tolist() for one in results]))


def _xla() -> Any:
    import jax
    from jax.extend.backend import get_compile_options

    from topos.runtimes._mlir import bytecode, parse, signature
    from topos.runtimes.xla.module import INEXACT_PASSES, PASSES, bindings

    ir, make_context = bindings()

    def bare(each: Fault) -> Ran:
        with make_context():
            module = parse(ir, each.module)
            types, code = signature(ir, module), bytecode(module)
        flags = {} if "fast" in each.numerics else {PASSES: INEXACT_PASSES}
        device = jax.devices("cpu")[0]
        options = get_compile_options(1, 1, [[device.id]], env_options_overrides=flags)
        with jax.enable_x64(True):
            compiled = device.client.compile_and_load(code, [device], options)
            given = [jax.device_put(one, device) for one in arrays(each.arguments, types.arguments)]
            return types, [*map(np.asarray, compiled.execute(given))]

    return bare


def _reference() -> Any:
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    from topos.runtimes._mlir import main_of, parse, signature

    def bare(each: Fault) -> Ran:
        with make_ir_context(), ir.Location.unknown():
            module = parse(ir, each.module)
            types = signature(ir, module)
            given = arrays(each.arguments, types.arguments)
            elements = [type.element_type for type in main_of(ir, module).type.inputs]
            attributes = [
                ir.DenseElementsAttr.get(array, type=element, shape=array.shape)
                for array, element in zip(given, elements, strict=True)
            ]
            return types, [np.array(each) for each in stablehlo.eval_module(module, attributes)]

    return bare


def _iree() -> Any:
    from iree.compiler import ir
    from iree.compiler.tools.binaries import find_tool

    from topos.runtimes._mlir import bytecode, parse, signature
    from topos.runtimes.iree import HOST, KEEP_DOUBLES
    from topos.runtimes.iree.executable import Binary, IreeExecutable
    from topos.runtimes.iree.process import compiled

    def bare(each: Fault) -> Ran:
        with ir.Context():
            module = parse(ir, each.module)
            types, code = signature(ir, module), bytecode(module)
        made = compiled(find_tool, code, [KEEP_DOUBLES, *HOST], 600.0)
        executable = IreeExecutable.on("local-sync", Binary(types, *made, ""))
        return types, [*executable(*arrays(each.arguments, types.arguments))]

    return bare


if __name__ == "__main__":
    sys.exit(main())
