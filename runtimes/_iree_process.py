"""IREE's compiler in a process of its own: timed, and its refusals told as errors of topos."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

from topos.errors import CompileError, CrashError, UnsupportedError

__all__ = ["compiled"]

FIXED: Final = (
    "--iree-input-type=stablehlo",
    "--iree-vm-bytecode-module-output-format=flatbuffer-binary",
    "--iree-hal-target-backends=llvm-cpu",
    "--mlir-print-op-on-diagnostic=false",
)
ILLEGAL: Final = re.compile(r"failed to legalize operation '([\w.]+)'")
UNLINKED: Final = re.compile(r"undefined symbol: (\w+)")


def compiled(
    find_tool: Callable[[str], str], code: bytes, flags: Sequence[str], seconds: float
) -> bytes:
    """Returns the binary of the module `code`, or raises the compiler's refusal.

    `find_tool` is IREE's own: its `compile_str` would wait for ever.
    Raises `UnsupportedError` where the compiler names what it lacks and `CrashError` where it
    dies or takes longer than `seconds`; any other refusal, and a compiler that cannot start, are
    `CompileError`.
    """
    try:
        linker = f"--iree-llvmcpu-embedded-linker-path={find_tool('iree-lld')}"
        program = [find_tool("iree-compile"), "-", *FIXED, linker, *flags]
        done = subprocess.run(
            program, input=code, capture_output=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise CrashError(f"iree's compiler was stopped after {seconds:g} seconds") from None
    # A missing tool, too few file descriptors, or a flag with a zero byte.
    except (OSError, ValueError) as error:
        raise CompileError(f"iree's compiler cannot start: {error}") from error
    if done.returncode < 0:
        raise CrashError(f"iree's compiler died of {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise _refusal(done.stderr.decode(errors="replace"), done.returncode)
    return done.stdout


def _refusal(report: str, status: int) -> CompileError | UnsupportedError:
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
