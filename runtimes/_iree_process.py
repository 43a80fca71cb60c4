"""IREE's compiler in a process of its own: timed, and its refusals told as errors of topos."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

from topos.errors import CompileError, UnsupportedError

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
    Raises `UnsupportedError` where the compiler names what it lacks; any other refusal, a
    compiler that cannot start and one that takes longer than `seconds` are `CompileError`.
    """
    try:
        linker = f"--iree-llvmcpu-embedded-linker-path={find_tool('iree-lld')}"
        program = [find_tool("iree-compile"), "-", *FIXED, linker, *flags]
        done = subprocess.run(
            program, input=code, capture_output=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise CompileError(f"iree's compiler was stopped after {seconds:g} seconds") from None
    # A missing tool, too few file descriptors, or a flag with a zero byte.
    except (OSError, ValueError) as error:
        raise CompileError(f"iree's compiler cannot start: {error}") from error
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
