"""IREE's compiler in a process of its own: timed, and its refusals told as errors of topos."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from topos.errors import CompileError, CrashError, UnsupportedError
from topos.runtimes._runtime import no_option

FIXED: Final = (
    "--iree-input-type=stablehlo",
    "--iree-vm-bytecode-module-output-format=flatbuffer-binary",
    "--iree-hal-target-backends=llvm-cpu",
    "--mlir-print-op-on-diagnostic=false",
)
# The flag that names the file of figures, without its dashes.
STATISTICS: Final = "iree-scheduling-dump-statistics-file"
UNKNOWN: Final = re.compile(r"Unknown command line argument '--([^=']+)")
ILLEGAL: Final = re.compile(r"failed to legalize operation '([\w.]+)'")
UNLINKED: Final = re.compile(r"undefined symbol: (\w+)")


class Compiled(NamedTuple):
    """A binary, and the bytes that a call allocates for results and what lies between.

    `transient` is None where the compiler does not tell.
    """

    binary: bytes
    transient: int | None


def compiled(
    find_tool: Callable[[str], str], code: bytes, flags: Sequence[str], seconds: float
) -> Compiled:
    """Returns the module `code` compiled, or raises the compiler's refusal.

    `find_tool` is IREE's own: its `compile_str` would wait for ever.
    Raises `UnsupportedError` where the compiler names what it lacks and `CrashError` where it
    dies or takes longer than `seconds`; any other refusal, and a compiler that cannot start, are
    `CompileError`.
    """
    try:
        with TemporaryDirectory(prefix="topos-iree-") as folder:
            figures = Path(folder, "statistics.json")
            linker = f"--iree-llvmcpu-embedded-linker-path={find_tool('iree-lld')}"
            told = (f"--{STATISTICS}={figures}", "--iree-scheduling-dump-statistics-format=json")
            program = [find_tool("iree-compile"), "-", *FIXED, linker, *told, *flags]
            done = subprocess.run(
                program, input=code, capture_output=True, check=False, timeout=seconds
            )
            transient = _transient(figures)
    except subprocess.TimeoutExpired:
        raise CrashError(f"iree's compiler was stopped after {seconds:g} seconds") from None
    # A missing tool, no folder for temporary files, or a flag with a zero byte.
    except (OSError, ValueError) as error:
        raise CompileError(f"iree's compiler cannot start: {error}") from error
    if done.returncode < 0:
        raise CrashError(f"iree's compiler died of {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise _refusal(done.stderr.decode(errors="replace"), done.returncode)
    return Compiled(done.stdout, transient)


def _transient(figures: Path) -> int | None:
    """Returns the compiler's own figure; a version that tells none, or another way, has none."""
    try:
        told = json.loads(figures.read_bytes())
        return int(told["stream-aggregate"]["execution"]["transient-memory-size"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _refusal(report: str, status: int) -> CompileError | UnsupportedError:
    unknown = UNKNOWN.search(report)
    if unknown:
        return no_option("iree", unknown[1])
    illegal = ILLEGAL.search(report)
    if illegal:
        return UnsupportedError(f"iree does not take {illegal[1]}")
    unlinked = UNLINKED.search(report)
    if unlinked:
        return UnsupportedError(f"iree has no {unlinked[1]} to link the module with")
    lines = [line.strip() for line in report.splitlines() if "error: " in line]
    lines = lines or report.strip().splitlines() or [f"it ended with status {status}"]
    reason = "\n".join(lines[:3])
    return CompileError(f"iree refused the module: {reason}")
