"""Modules that a runtime compiles and runs in its worker process, so that only that dies of them.

A death is told as `CrashError`, and the next request to the runtime goes to a new worker, in which
an executable is made again with what was bound to it. Nothing of the foreign packages is loaded
into this process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import ml_dtypes  # noqa: F401  # numpy knows bfloat16 and its like by name from here on.
import numpy as np
import numpy.typing as npt

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import ArgumentError, ExecutionError, UnavailableError
from topos.runtimes._archive import Array, restored, stored
from topos.runtimes._compile_cache import cache_at
from topos.runtimes._isolation import Isolation, Remote
from topos.runtimes._placed import Placed, placed_on_host, residents
from topos.runtimes._runtime import (
    TIMEOUT,
    Executable,
    ExecutableCost,
    ExecutableMemory,
    Runtime,
    requested,
    seconds_of,
)
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.runtimes._timing import Timing
from topos.stablehlo.forms import ModuleLike, text_of

# The option of `compile` that says where arguments lie.
DEVICE: Final = "device"
NAMED: Final = re.compile(r"\bmodule\s+(@\"[^\"\n]*\"|@[\w.$-]+)")


class _Terms(NamedTuple):
    """What a request about a module is told and given."""

    module: str
    seconds: float
    device: dict[str, Any]


class IsolatedRuntime(Runtime):
    """`runtime` in a worker process; `adapter` is the module whose `RUNTIME` the worker serves.

    `seconds` is what compiling or a call may take where the option `timeout` does not say it.
    With a `slack`, the runtime takes that option itself, and the worker waits so much longer.
    """

    def __init__(
        self, runtime: Runtime, adapter: str, seconds: float, slack: float | None = None
    ) -> None:
        self._runtime, self._default, self._slack = runtime, seconds, slack
        self.title = runtime.name
        self._isolation = Isolation(runtime.name, adapter)
        self._place = f"the worker of {runtime.name}"

    def start(self) -> None:
        """Starts the worker and does not wait for it; what hinders it is the first request's."""
        if self.status().ready:
            with suppress(UnavailableError):
                self._isolation.start()

    def status(self) -> Status:
        """Returns the status of the runtime itself."""
        return self._runtime.status()

    def compile(
        self,
        module: ModuleLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> IsolatedExecutable:
        """Returns `module` compiled by the worker; raises what the runtime raises there."""
        text, chosen = text_of(module), requested(options)
        kept = cache_at(cache)
        posture, seconds = Numerics.of(numerics), self._seconds(chosen)
        if self._slack is not None:
            chosen[TIMEOUT] = seconds
        request = {
            "do": "compile",
            "numerics": posture.value,
            "options": chosen,
            "cache": None if kept is None else str(kept.folder),
        }
        module = _title(text)
        device = {DEVICE: chosen[DEVICE]} if DEVICE in chosen else {}
        code = _bytes(text.encode(errors="surrogatepass"))
        return self._made(request, [code], _Terms(module, seconds, device), f"compiled {module}")

    def place(self, array: npt.ArrayLike, *, options: Mapping[str, Any] | None = None) -> Placed:
        """Returns `array` held by the worker."""
        chosen = requested(options)
        seconds = self._seconds(chosen)
        self._demand_ready()
        held = placed_on_host(array)
        request = {"do": "place", "dtype": held.type.dtype.name, "options": chosen}
        remote = Remote(request, [stored(held.held)], f"placed {held.type}", seconds)
        self._isolation.make(remote)
        return Placed(held.type, self._place, remote)

    def deserialize(
        self, data: bytes | bytearray | memoryview, *, options: Mapping[str, Any] | None = None
    ) -> IsolatedExecutable:
        """Returns what `serialize` gave, loaded by the worker."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ArgumentError(f"deserialize needs bytes, got {type(data).__name__}")
        chosen = requested(options)
        terms = _Terms("a compiled module", self._seconds(chosen), dict(chosen))
        request = {"do": "deserialize", "options": chosen}
        return self._made(request, [_bytes(bytes(data))], terms, "loaded a compiled module")

    def restore(
        self,
        module: ModuleLike,
        data: bytes | bytearray | memoryview,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
    ) -> IsolatedExecutable:
        """Returns what `serialize` gave for `module`, held against it and loaded by the worker."""
        text, chosen = text_of(module), requested(options)
        seconds = self._seconds(chosen)
        request = {"do": "restore", "numerics": Numerics.of(numerics).value, "options": chosen}
        code = _bytes(text.encode(errors="surrogatepass"))
        device = {DEVICE: chosen[DEVICE]} if DEVICE in chosen else {}
        terms = _Terms(_title(text), seconds, device)
        return self._made(request, [code, _bytes(bytes(data))], terms, f"loaded {terms.module}")

    def bound(
        self, whole: IsolatedExecutable, resident: Mapping[int, npt.ArrayLike | Placed]
    ) -> IsolatedExecutable:
        """Returns `whole` with those arguments held by the worker."""
        terms = whole.terms
        options = {**terms.device, TIMEOUT: terms.seconds}
        held = residents(
            whole.signature,
            resident,
            lambda array: self.place(array, options=options),
            self._place,
        )
        keys = {place: each.held.key for place, each in held.items()}
        request = {"do": "bind", "of": whole.remote.key, "resident": keys}
        needs = [whole.remote, *(each.held for each in held.values())]
        return self._made(request, [], terms, f"bound arguments of {terms.module}", needs)

    def asked(
        self,
        executable: IsolatedExecutable,
        request: dict[str, Any],
        arrays: Sequence[Array] = (),
        longer: float = 0.0,
    ) -> tuple[dict[str, Any], list[Array]]:
        """Returns the worker's answer about an executable; the request may take `longer`."""
        terms = executable.terms
        doing = f"ran {terms.module}"
        seconds = terms.seconds + longer
        return self._isolation.ask(executable.remote, request, arrays, doing, seconds)

    def _made(
        self,
        request: dict[str, Any],
        arrays: Sequence[Array],
        terms: _Terms,
        doing: str,
        needs: Sequence[Remote] = (),
    ) -> IsolatedExecutable:
        self._demand_ready()
        seconds = terms.seconds + (self._slack or 0.0)
        remote = Remote(request, arrays, doing, seconds, needs)
        answer = self._isolation.make(remote)
        signature = ModuleSignature(_types(answer["arguments"]), _types(answer["results"]))
        return IsolatedExecutable(signature, self, remote, terms)

    def _seconds(self, chosen: dict[str, Any]) -> float:
        return seconds_of(chosen, self._default)

    def _demand_ready(self) -> None:
        status = self.status()
        if not status.ready:
            raise UnavailableError(status.detail)


class IsolatedExecutable(Executable):
    """A module in the worker of its runtime; the results are arrays of the caller's own.

    Calls from several threads take turns with everything else that the worker is asked.
    """

    def __init__(
        self, signature: ModuleSignature, runtime: IsolatedRuntime, remote: Remote, terms: _Terms
    ) -> None:
        super().__init__(signature)
        self._runtime, self.remote, self.terms = runtime, remote, terms

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results; raises `CrashError` where the worker died or ran too long."""
        _, results = self._runtime.asked(self, {"do": "run"}, [*map(stored, arguments)])
        return tuple(
            restored(array, wanted.dtype)
            for array, wanted in zip(results, self.signature.results, strict=True)
        )

    def timed(self, arguments: Sequence[Array], seconds: float, threads: int = 1) -> Timing:
        """Returns how long each call took inside the worker."""
        request = {"do": "time", "time": seconds, "threads": threads}
        given = [*map(stored, arguments)]
        answer, (latencies,) = self._runtime.asked(self, request, given, longer=seconds)
        return Timing(latencies, answer["elapsed"])

    def bind(self, resident: Mapping[int, npt.ArrayLike | Placed]) -> IsolatedExecutable:
        """Returns this module with those arguments held by the worker, as `Executable` says."""
        return self._runtime.bound(self, resident)

    def memory(self) -> ExecutableMemory | None:
        """Returns what the runtime tells in the worker."""
        figures = self._runtime.asked(self, {"do": "memory"})[0]["figures"]
        return None if figures is None else ExecutableMemory(*figures)

    def cost(self) -> ExecutableCost | None:
        """Returns what the runtime tells in the worker."""
        figures = self._runtime.asked(self, {"do": "cost"})[0]["figures"]
        return None if figures is None else ExecutableCost(*figures)

    def serialize(self) -> bytes:
        """Returns the compiled form, as the runtime itself gives it."""
        _, (data,) = self._runtime.asked(self, {"do": "serialize"})
        return data.tobytes()

    def __reduce__(self) -> NoReturn:
        name = self._runtime.title
        raise ExecutionError(f"an executable of {name} lives in its process: pickle the text")


def _title(text: str) -> str:
    named = NAMED.search(text)
    return f"the module {named[1]}" if named else "a module without a name"


def _bytes(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8)


def _types(described: list[tuple[str, list[int]]]) -> tuple[ArrayType, ...]:
    return tuple(ArrayType(tuple(shape), np.dtype(name)) for name, shape in described)
