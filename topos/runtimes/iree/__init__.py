"""IREE for the CPU: compiled by its compiler in a process of its own, run in this one."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import CompileError
from topos.runtimes._admission import admit
from topos.runtimes._compile_cache import cache_at, entry_key
from topos.runtimes._dynamic import specializing
from topos.runtimes._isolated import IsolatedRuntime
from topos.runtimes._mlir import bytecode, parse, signature, unalias
from topos.runtimes._packages import imported, installed
from topos.runtimes._placed import Placed, placed_on_host
from topos.runtimes._plain_forms import plain_constants
from topos.runtimes._runtime import Executable, Runtime, isolated, requested, seconds_of
from topos.runtimes.iree.bounds import keep_inside
from topos.runtimes.iree.device import DEVICES, device_of
from topos.runtimes.iree.executable import NAME, Binary, IreeExecutable, restored
from topos.runtimes.iree.process import STATISTICS, compiled
from topos.runtimes.iree.rewrites import rewrite
from topos.runtimes.iree.writes import keep_values
from topos.stablehlo.forms import ModuleLike, text_of

__all__ = ["RUNTIME", "Iree"]

PACKAGES: Final = {"iree.compiler": "iree-base-compiler", "iree.runtime": "iree-base-runtime"}
# By default f64 is quietly computed and returned as f32.
KEEP_DOUBLES: Final = "--iree-input-demote-f64-to-f32=false"
HOST: Final = ("--iree-llvmcpu-target-cpu=host",)
# Flags that say where the compiler writes.
OUTPUTS: Final = frozenset({"o", "output", STATISTICS})
# A name with anything else in it, such as `=`, would be another flag than the one it reads as.
FLAG: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
DEVICE: Final = "device"
DEFAULT_SECONDS: Final = 600.0
# What the compiler may take is told to it, and the worker waits so much longer.
SLACK_SECONDS: Final = 5.0
# Of what is done to a module before IREE sees it: one more with every change to that.
REVISION: Final = 7


class Iree(Runtime):
    """IREE's llvm-cpu backend; safe to compile and to call from several threads.

    Arithmetic flushes subnormal numbers to zero, whatever the numerics. `EXACT` compiles for a
    processor without fused multiply-add, which IREE otherwise uses wherever it can; on machines
    other than x86-64 there is no such choice, and a product may stay fused with a sum.
    """

    name = NAME
    worker: IsolatedRuntime

    def __init__(self) -> None:
        self.worker = IsolatedRuntime(self, __name__, DEFAULT_SECONDS, SLACK_SECONDS)

    def status(self) -> Status:
        """Returns whether IREE's compiler and runtime are installed, with their versions."""
        return installed(self.name, "iree", PACKAGES)

    def compile(
        self,
        module: ModuleLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> Executable:
        """Returns `module` compiled; `options` are flags of iree-compile, named without dashes.

        Three options are no flags. `device` is `local-sync`, which runs a call in the calling
        thread and is the default, or `local-task`, which runs it on a thread a core. `timeout` is
        the seconds that the compiler may take before it is stopped with `CrashError`, 600 where
        absent. With `isolated` the module runs in a worker process, where `timeout` holds for a
        call, too. Indices of gathers and slices are clamped and scatters drop what lies outside,
        as StableHLO says, in whatever text. A flag that names a file is cached by that name.
        Raises `ParseError`, `VerifyError` or `CompileError` with the diagnostic, and
        `UnsupportedError` for a dialect, such as `sdy`, or an operation that IREE does not take.
        """
        text, chosen = text_of(module), requested(options)
        dynamic = specializing(self, text, numerics, options, cache)
        if dynamic is not None:
            return dynamic
        if isolated(chosen):
            return self.worker.compile(text, numerics=numerics, options=chosen, cache=cache)
        device_name = _device_name(chosen.pop(DEVICE, None))
        seconds = seconds_of(chosen, DEFAULT_SECONDS)
        flags = _flags(numerics, chosen)
        kept, versions = cache_at(cache), self._versions()
        if kept is None:
            return IreeExecutable.on(device_name, _built(text, flags, seconds, versions))
        settings = {"flags": flags, "revision": REVISION}
        key = entry_key(self.name, text.encode(errors="surrogatepass"), settings, versions)
        # The key tells the versions and the machine apart; what IREE still cannot load is a miss.
        with suppress(CompileError):
            return IreeExecutable.on(device_name, restored(kept.get(key) or b"", versions))
        binary = _built(text, flags, seconds, versions)
        executable = IreeExecutable.on(device_name, binary)
        kept.put(key, binary.packed())
        return executable

    def place(self, array: npt.ArrayLike, *, options: Mapping[str, Any] | None = None) -> Placed:
        """Returns `array` held by the device of the option `device`, as `Runtime` says."""
        chosen = requested(options)
        if isolated(chosen):
            return self.worker.place(array, options=chosen)
        device_name = _only_device(chosen)
        self._versions()
        return device_of(device_name).placed(placed_on_host(array).held)

    def deserialize(
        self, data: bytes | bytearray | memoryview, *, options: Mapping[str, Any] | None = None
    ) -> Executable:
        """Returns what `IreeExecutable.serialize` gave, on the device of the option `device`."""
        chosen = requested(options)
        if isolated(chosen):
            return self.worker.deserialize(data, options=chosen)
        device_name = _only_device(chosen)
        return IreeExecutable.on(device_name, restored(data, self._versions()))

    def _versions(self) -> str:
        """Returns the versions of IREE, whose runtime is loaded; a cache hit needs no compiler."""
        status = self.status()
        with imported(status):
            import iree.runtime  # noqa: F401
        return status.detail


def _built(text: str, flags: list[str], seconds: float, versions: str) -> Binary:
    with imported(RUNTIME.status()):
        from iree.compiler import ir
        from iree.compiler.tools.binaries import find_tool
    with ir.Context():
        module = parse(ir, text)
        admit(ir, module)
        unalias(ir, module)
        plain_constants(ir, module, text)
        keep_inside(ir, module)
        rewrite(ir, module)
        keep_values(ir, module)
        types, code = signature(ir, module), bytecode(module)
    made = compiled(find_tool, code, flags, seconds)
    return Binary(types, made.binary, made.transient, versions)


def _flags(numerics: Numerics | str, options: dict[str, Any]) -> list[str]:
    for name in options:
        if not FLAG.fullmatch(name):
            raise CompileError(f"iree's options are flags named without dashes, got {name!r}")
        if name in OUTPUTS:
            raise CompileError(f"iree's result goes to this process, got option {name!r}")
    target = _exact_target() if Numerics.of(numerics) is Numerics.EXACT else HOST
    return [KEEP_DOUBLES, *target, *(f"--{name}={value}" for name, value in options.items())]


def _device_name(name: object) -> str:
    if name is None:
        return DEVICES[0]
    if not isinstance(name, str) or name not in DEVICES:
        raise CompileError(f"iree has the devices {' and '.join(DEVICES)}, got {name!r}")
    return name


def _only_device(chosen: dict[str, Any]) -> str:
    name = chosen.pop(DEVICE, None)
    if chosen:
        raise CompileError(f"iree has the option {DEVICE} here, got {min(chosen)!r}")
    return _device_name(name)


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
