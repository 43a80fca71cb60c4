"""Runtimes without topos: the scripts and commands that run a module by their own packages."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from topos.engine import Numerics
from topos.judge import raw_iree, raw_xla
from topos.judge.case import Case
from topos.judge.target import Target
from topos.runtimes.interpreter.program import Array
from topos.runtimes.xla.module import flags_of
from topos.stablehlo.ir import Tensor

# What the script is called in a folder that holds it.
SCRIPT: Final = "reproduce.py"
SCRIPTS: Final[Mapping[str, Any]] = {"iree": raw_iree, "xla": raw_xla}
# Options of our adapters, which are none of the runtime.
OURS: Final = frozenset({"device", "timeout", "isolated"})
# An input of more elements than this is a file of its own.
SHORT: Final = 64


class Direct(NamedTuple):
    """The script for a runtime, and the words that stand before its three files."""

    runtime: str
    script: Path
    words: tuple[str, ...]

    @property
    def target(self) -> Target:
        """The script as a runtime that is judged."""
        return Target(shlex.join([sys.executable, str(self.script), *self.words]))


def direct_of(target: Target) -> Direct | None:
    """Returns how a runtime runs without topos, or `None` where there is no script for it.

    A command line that runs one of the scripts is one already.
    """
    if not isinstance(target.runtime, str):
        return None
    for runtime, script in SCRIPTS.items():
        path = Path(script.__file__)
        if target.runtime == runtime:
            return Direct(runtime, path, tuple(_options(target)))
        words = shlex.split(target.runtime)
        starts = [
            place
            for place, word in enumerate(words)
            if word == script.__name__ or Path(word).name == path.name
        ]
        if starts:
            return Direct(runtime, path, tuple(words[starts[0] + 1 :]))
    return None


def iree_commands(case: Case, flags: Sequence[str]) -> tuple[str, str]:
    """Returns the commands that compile `module.mlir` and run it by IREE's tools."""
    fixed = ("--iree-input-type=stablehlo", "--iree-hal-target-backends=llvm-cpu")
    compiling = ["iree-compile", "module.mlir", "-o", "module.vmfb", *fixed]
    types = [each.type for each in case.module.function().arguments]
    inputs = [
        f"--input={_input(place, array, type)}"
        for place, (array, type) in enumerate(zip(case.arguments, types, strict=True))
        if isinstance(type, Tensor)
    ]
    running = ["iree-run-module", "--device=local-sync", "--module=module.vmfb"]
    return (
        shlex.join([*compiling, *raw_iree.FLAGS, *flags]),
        shlex.join([*running, "--function=main", *inputs]),
    )


def input_files(case: Case) -> dict[str, Array]:
    """Returns the arguments that are too long for a command line, by their files' names."""
    return {
        f"arg{place}.npy": array
        for place, array in enumerate(case.arguments)
        if not _is_short(array)
    }


def _is_short(array: Array) -> bool:
    return array.size <= SHORT and array.dtype.kind != "c"


def _input(place: int, array: Array, type: Tensor) -> str:
    if not _is_short(array):
        return f"@arg{place}.npy"
    shape = "".join(f"{n}x" for n in array.shape)
    integral = array.dtype.kind in "biu" or "int" in array.dtype.name
    spelled = [str(int(each)) if integral else repr(float(each)) for each in array.reshape(-1)]
    element = type.element.replace("ui", "i")
    return f"{shape}{element}={' '.join(spelled)}"


def _options(target: Target) -> Iterator[str]:
    given = {key: each for key, each in (target.options or {}).items() if key not in OURS}
    if target.runtime == "xla":
        yield from (f"{key}={value}" for key, value in flags_of(target.numerics, given).items())
        return
    if Numerics.of(target.numerics) is Numerics.EXACT:
        yield "--iree-llvmcpu-target-cpu=generic"
    yield from (f"--{key}={value}" for key, value in given.items())
