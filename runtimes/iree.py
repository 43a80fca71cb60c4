"""IREE for the CPU: compiled by its compiler in a process of its own, run in this one."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from topos.engine import Numerics
from topos.errors import CompileError, ExecutionError
from topos.runtimes._admission import admit
from topos.runtimes._iree_process import compiled
from topos.runtimes._mlir import bytecode, parse, signature, unalias
from topos.runtimes._packages import imported, installed
from topos.runtimes._runtime import Executable, ModuleSignature, Runtime, Status, requested

__all__ = ["RUNTIME", "Iree"]

Array = npt.NDArray[Any]

PACKAGES: Final = {"iree.compiler": "iree-base-compiler", "iree.runtime": "iree-base-runtime"}
# By default f64 is quietly computed and returned as f32.
KEEP_DOUBLES: Final = "--iree-input-demote-f64-to-f32=false"
HOST: Final = ("--iree-llvmcpu-target-cpu=host",)
OUTPUTS: Final = frozenset({"o", "output"})
DEFAULT_SECONDS: Final = 600.0
LONGEST_SECONDS: Final = 1e6


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

        The option `timeout` is the seconds that the compiler may take before it is stopped with
        `CompileError`; it is 600 where absent. Raises `ParseError`, `VerifyError` or
        `CompileError` with the diagnostic, and `UnsupportedError` for an operation that IREE
        names as one it does not take.
        """
        chosen = requested(text, options)
        flags = [
            KEEP_DOUBLES,
            *(_exact_target() if Numerics.of(numerics) is Numerics.EXACT else HOST),
        ]
        seconds = _seconds(chosen.pop("timeout", DEFAULT_SECONDS))
        flags += [f"--{name}={value}" for name, value in _plain(chosen).items()]
        with imported(self.status()):
            from iree.compiler import ir
            from iree.compiler.tools.binaries import find_tool

            load = _loader()
        with ir.Context():
            module = parse(ir, text)
            admit(ir, module)
            unalias(ir, module)
            types, code = signature(ir, module), bytecode(module)
        return IreeExecutable(types, load(compiled(find_tool, code, flags, seconds)))


class IreeExecutable(Executable):
    """A module compiled by IREE, with a device and a context of its own.

    IREE asks its users to enter a context from one thread at a time, so calls from several
    threads wait for each other here; two executables run side by side.
    """

    def __init__(self, signature: ModuleSignature, loaded: tuple[Any, Any]) -> None:
        super().__init__(signature)
        self._lock = threading.Lock()
        # The function needs the context for as long as it is called.
        self._context, self._main = loaded

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results, copied out of the device's memory."""
        try:
            with self._lock:
                answer = self._main(*arguments)
                # A view of a result is overwritten by later calls once its handle is gone.
                return tuple(np.array(each.to_host(), copy=True) for each in _sequence(answer))
        except (RuntimeError, ValueError) as error:
            raise ExecutionError(f"iree failed to run the module: {error}") from error

    def __reduce__(self) -> NoReturn:
        raise ExecutionError("an executable of iree lives in its process: pickle the text")


def _loader() -> Callable[[bytes], tuple[Any, Any]]:
    """Returns the function that loads a binary on a device and in a context of its own."""
    from iree.runtime import Config, SystemContext, VmModule

    def load(binary: bytes) -> tuple[Any, Any]:
        try:
            context = SystemContext(config=Config("local-sync"))
            module = VmModule.copy_buffer(context.instance, binary)
            context.add_vm_module(module)
            return context, context.modules[module.name]["main"]
        # The bindings raise what they like at a binary that is none of a module with @main.
        except Exception as error:
            raise CompileError(f"iree cannot load what it compiled: {error!r}") from error

    return load


def _seconds(seconds: object) -> float:
    if not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_SECONDS:
        raise CompileError(
            f"timeout needs a number of seconds up to {LONGEST_SECONDS:g}, got {seconds!r}"
        )
    return float(seconds)


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if name in OUTPUTS:
            raise CompileError(f"iree's result goes to this process, got option {name!r}")
    return options


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


RUNTIME = Iree()
