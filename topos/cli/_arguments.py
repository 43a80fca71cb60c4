"""Arguments of a module: those of an archive, or drawn for one that nobody gave any."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.cli._shared import naming, whole
from topos.errors import ArgumentError, ExecutionError
from topos.runtimes._archive import load
from topos.runtimes._inputs import EXTENT, random_array
from topos.runtimes._runtime import Executable
from topos.runtimes._signature import ArrayType

Array = npt.NDArray[Any]


def add_argument_sources(parser: ArgumentParser, *, seed: int | None, of: str = "") -> None:
    """Adds where a command has the arguments of a module from; with a seed, it draws by itself."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--args", metavar="A.npz", help=f"{of}the arguments, arg0, arg1, ...")
    by_itself = "" if seed is None else " (default: %(default)s)"
    source.add_argument(
        "--random",
        metavar="SEED",
        type=whole,
        default=seed,
        help=f"{of}arguments drawn from this seed instead{by_itself}",
    )
    parser.add_argument(
        "--extent",
        metavar="N",
        type=whole,
        help=f"{of}what --random makes each extent that @main leaves open, all alike "
        f"(default: {EXTENT})",
    )


def arguments_of(chosen: Namespace, types: Sequence[ArrayType]) -> list[Array]:
    """Returns the arguments of types that a command line gives; raises `ArgumentError`."""
    drawing = chosen.args is None and chosen.random is not None
    stated = ", ".join(f"arg{position}: {type}" for position, type in enumerate(types))
    if chosen.extent is not None and not drawing:
        raise ArgumentError("--extent needs --random, whose arguments it is for")
    if chosen.extent is not None and not any(None in type.shape for type in types):
        raise ArgumentError(
            f"--extent needs an open extent, and @main takes {stated or 'no arguments'}"
        )
    if chosen.args is not None:
        return archived(chosen.args, types)
    if drawing:
        generator = np.random.default_rng(chosen.random)
        extent = EXTENT if chosen.extent is None else chosen.extent
        return [random_array(generator, type, extent) for type in types]
    if types:
        raise ArgumentError(f"@main takes {stated}; give them with --args or --random")
    return []


def archived(path: str, types: Sequence[ArrayType]) -> list[Array]:
    """Returns the arguments that an archive holds as arg0, arg1, ..."""
    with naming(path):
        return load(path, types, "arg")


def called(
    chosen: Namespace, executable: Executable, arguments: Sequence[Array]
) -> tuple[Array, ...]:
    """Returns the results for the arguments of a command line.

    Drawn ones that the module does not take are no wrong usage: raises `ExecutionError`.
    """
    try:
        return executable(*arguments)
    except ArgumentError as error:
        if chosen.args is not None:
            raise
        is_open = any(None in type.shape for type in executable.signature.arguments)
        another = ", or another number for all open extents with --extent" if is_open else ""
        raise ExecutionError(
            f"the module refuses the drawn arguments; give some with --args{another}: {error}"
        ) from error
