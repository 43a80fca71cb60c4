"""XLA through the clients of jax: compiled once, called as fast as a function of jax.jit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import CompileError
from topos.runtimes._compile_cache import cache_at
from topos.runtimes._dynamic import specializing
from topos.runtimes._isolated import IsolatedRuntime
from topos.runtimes._packages import imported, installed
from topos.runtimes._placed import Placed, placed_on_host
from topos.runtimes._runtime import ISOLATED, TIMEOUT, Executable, Runtime, isolated, requested
from topos.runtimes.xla.build import NAME, Recipe, built, rebuilt, restored
from topos.runtimes.xla.device import DEVICE, device_of
from topos.runtimes.xla.executable import XlaExecutable, placed_on
from topos.runtimes.xla.module import bindings, flags_of
from topos.stablehlo.forms import ModuleLike, text_of

__all__ = ["RUNTIME", "Xla"]

# What a request to the worker may take.
DEFAULT_SECONDS: Final = 600.0
PACKAGES: Final = {"jax": "jax", "jaxlib": "jaxlib"}


class Xla(Runtime):
    """XLA for any device of jax; safe to compile and to call from several threads.

    Arithmetic on the CPU flushes subnormal numbers to zero, whatever the numerics. `EXACT`
    turns off the passes that merge or rewrite float operations, and lets no rounding to bf16 be
    left out. What XLA gets wrong is rewritten or refused. No setting of jax is changed.
    """

    name = NAME
    worker: IsolatedRuntime

    def __init__(self) -> None:
        self.worker = IsolatedRuntime(self, __name__, DEFAULT_SECONDS)

    def status(self) -> Status:
        """Returns whether jax and jaxlib are installed, with their versions."""
        return installed(self.name, "xla", PACKAGES)

    def compile(
        self,
        module: ModuleLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> Executable:
        """Returns `module` compiled; `options` are XLA's compiler options by name, and `device`.

        With `isolated` the module runs in a worker process, and `timeout` is the seconds that
        compiling or a call may take there, 600 where absent.
        `device` names a PJRT platform, and maybe a number, as in `cpu`, `cuda:1` or `tpu`; it is
        jax's default device where absent. Raises `ParseError`, `VerifyError`, `UnsupportedError`
        or `CompileError` with the diagnostic; an option that XLA does not know is a
        `CompileError`, a device that is not here an `UnavailableError`, and so is a fork of a
        process that started XLA here, where only what is compiled already is called.
        """
        text, chosen = text_of(module), requested(options)
        dynamic = specializing(self, text, numerics, options, cache)
        if dynamic is not None:
            return dynamic
        if isolated(chosen):
            return self.worker.compile(text, numerics=numerics, options=chosen, cache=cache)
        recipe = self._recipe(text, numerics, chosen, cache)
        return XlaExecutable(built(recipe, {}), recipe)

    def place(self, array: npt.ArrayLike, *, options: Mapping[str, Any] | None = None) -> Placed:
        """Returns `array` held by the device of the option `device`, as `Runtime` says."""
        chosen = requested(options)
        if isolated(chosen):
            return self.worker.place(array, options=chosen)
        device = self._device(_only_device(chosen))
        return placed_on(device, placed_on_host(array).held)

    def deserialize(
        self, data: bytes | bytearray | memoryview, *, options: Mapping[str, Any] | None = None
    ) -> Executable:
        """Returns what `XlaExecutable.serialize` gave, on the device of the option `device`."""
        chosen = requested(options)
        if isolated(chosen):
            return self.worker.deserialize(data, options=chosen)
        device = self._device(_only_device(chosen))
        return XlaExecutable(restored(data, device), None)

    def restore(
        self,
        module: ModuleLike,
        data: bytes | bytearray | memoryview,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
    ) -> Executable:
        """Returns what `compile` would, from what `XlaExecutable.serialize` gave for `module`.

        Beside what `deserialize` holds it against, that is the number of threads, XLA_FLAGS and
        jax's own settings: the results have the same bits as those of `compile`.
        """
        text, chosen = text_of(module), requested(options)
        if isolated(chosen):
            return self.worker.restore(text, data, numerics=numerics, options=chosen)
        recipe = self._recipe(text, numerics, chosen, None)
        return XlaExecutable(rebuilt(recipe, data), recipe)

    def _recipe(
        self, text: str, numerics: Numerics | str, chosen: dict[str, Any], cache: Path | None
    ) -> Recipe:
        if TIMEOUT in chosen:
            raise CompileError(
                f"{TIMEOUT} needs {ISOLATED}=True, for a call here cannot be stopped"
            )
        device_name = chosen.pop(DEVICE, None)
        flags, kept = flags_of(numerics, chosen), cache_at(cache)
        posture = Numerics.of(numerics).value
        return Recipe(text, posture, flags, self._device(device_name), kept)

    def _device(self, name: object) -> Any:
        # A package that is broken or too old is told as such here.
        with imported(self.status()):
            bindings()
        return device_of(name)


def _only_device(chosen: dict[str, Any]) -> object:
    name = chosen.pop(DEVICE, None)
    if chosen:
        raise CompileError(f"xla has the option device here, got {min(chosen)!r}")
    return name


RUNTIME = Xla()
