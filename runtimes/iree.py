"""IREE for the CPU: compiled by its compiler in a process of its own, run in this one."""

from __future__ import annotations

import platform
import re
import threading
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.engine import Numerics
from topos.errors import CompileError, ExecutionError, UnsupportedError
from topos.runtimes._mlir import bytecode, parse, signature, unalias
from topos.runtimes._packages import imported, installed
from topos.runtimes._runtime import Executable, ModuleSignature, Runtime, Status

__all__ = ["RUNTIME", "Iree"]

Array = npt.NDArray[Any]

PACKAGES: Final = {"iree.compiler": "iree-base-compiler", "iree.runtime": "iree-base-runtime"}
# By default f64 is quietly computed and returned as f32.
KEEP_DOUBLES: Final = "--iree-input-demote-f64-to-f32=false"
HOST: Final = ("--iree-llvmcpu-target-cpu=host",)
ILLEGAL: Final = re.compile(r"failed to legalize operation '([\w.]+)'")
UNLINKED: Final = re.compile(r"undefined symbol: (\w+)")


class Iree(Runtime):
    """IREE's llvm-cpu backend on its synchronous device.

    Arithmetic flushes subnormal numbers to zero, whatever the numerics. `EXACT` compiles for a
    processor without fused multiply-add, which IREE otherwise uses wherever it can; on machines
    other than x86-64 there is no such choice, and a product may stay fused with a sum.
    """

    name = "iree"

    def status(self) -> Status:
        """Returns whether IREE's compiler and runtime are installed, with their versions."""
        return installed(self.name, "iree", PACKAGES)

    def compile(
        self,
        text: str,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
    ) -> Executable:
        """Returns `text` compiled; `options` are flags of iree-compile, named without dashes.

        Raises `ParseError`, `VerifyError` or `CompileError` with the diagnostic, and
        `UnsupportedError` for an operation that IREE names as one it does not take.
        """
        with imported(self.status()):
            from iree.compiler import compile_str, ir
            from iree.compiler.tools import CompilerToolError

        with ir.Context():
            module = parse(ir, text)
            unalias(ir, module)
            types, code = signature(ir, module), bytecode(module)
        flags = [
            KEEP_DOUBLES,
            *(_exact_target() if Numerics.of(numerics) is Numerics.EXACT else HOST),
        ]
        flags += [f"--{name}={value}" for name, value in (options or {}).items()]
        try:
            binary = compile_str(
                code, target_backends=["llvm-cpu"], input_type="stablehlo", extra_args=flags
            )
        except CompilerToolError as error:
            raise _refusal(str(error)) from error
        return IreeExecutable(types, binary)


class IreeExecutable(Executable):
    """A module compiled by IREE, with a device and a context of its own.

    IREE asks its users to enter a context from one thread at a time, so calls from several
    threads wait for each other here; two executables run side by side.
    """

    def __init__(self, signature: ModuleSignature, binary: bytes) -> None:
        super().__init__(signature)
        with imported(RUNTIME.status()):
            from iree.runtime import Config, SystemContext, VmModule

        self._lock = threading.Lock()
        self._context = SystemContext(config=Config("local-sync"))
        module = VmModule.copy_buffer(self._context.instance, binary)
        self._context.add_vm_module(module)
        self._main = self._context.modules[module.name]["main"]

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results, copied out of the device's memory."""
        try:
            with self._lock:
                answer = self._main(*arguments)
                # A view of a result is overwritten by later calls once its handle is gone.
                return tuple(np.array(each.to_host(), copy=True) for each in _sequence(answer))
        except (RuntimeError, ValueError) as error:
            raise ExecutionError(f"iree failed to run the module: {error}") from error


def _sequence(answer: Any) -> tuple[Any, ...]:
    """Returns IREE's answer as a tuple; it gives none and one result back without one."""
    if answer is None:
        return ()
    return answer if isinstance(answer, tuple) else (answer,)


def _exact_target() -> tuple[str, ...]:
    """Returns the flags of the widest target that has no fused multiply-add.

    A 200x200 product took as long there as with every instruction of the host.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ("--iree-llvmcpu-target-cpu=generic",)
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    present = {*extensions.get("baseline", ()), *extensions.get("found", ())}
    wide = not present.isdisjoint(("AVX2", "X86_V3"))
    features = ("--iree-llvmcpu-target-cpu-features=+avx2",) if wide else ()
    return ("--iree-llvmcpu-target-cpu=generic", *features)


def _refusal(report: str) -> CompileError | UnsupportedError:
    illegal = ILLEGAL.search(report)
    if illegal:
        return UnsupportedError(f"iree does not take {illegal[1]}")
    unlinked = UNLINKED.search(report)
    if unlinked:
        return UnsupportedError(f"iree has no {unlinked[1]} to link the module with")
    lines = [line.strip() for line in report.splitlines() if "error: " in line]
    lines = lines or report.partition("Diagnostics:")[2].strip().splitlines()
    reason = "\n".join(lines[:3]) or report.strip()
    return CompileError(f"iree refused the module: {reason}")


RUNTIME = Iree()
