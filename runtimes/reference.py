"""The StableHLO reference interpreter that jaxlib carries, in a worker process.

It is slow, keeps subnormal numbers, and ends its process at a division by zero or at anything it
lacks; the worker takes that blow, and the next call starts a new one.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import ml_dtypes  # noqa: F401  # numpy knows bfloat16 and its like by name from here on.
import numpy as np
import numpy.typing as npt

from topos import errors
from topos.engine import Numerics
from topos.errors import CompileError, ExecutionError, ToposError, UnavailableError
from topos.runtimes._archive import restored, stored
from topos.runtimes._packages import installed
from topos.runtimes._packing import packed, unpacked
from topos.runtimes._reference_process import WorkerProcess
from topos.runtimes._runtime import (
    ArrayType,
    Executable,
    ModuleSignature,
    Runtime,
    Status,
    requested,
)

__all__ = ["RUNTIME", "Reference"]

Array = npt.NDArray[Any]

DEFAULT_SECONDS: Final = 60.0
LONGEST_SECONDS: Final = 1e6


class Reference(Runtime):
    """The interpreter that defines StableHLO's reading of each operation.

    Numerics change nothing: it evaluates one operation after the other. Calls from several
    threads are safe and take turns, for there is one worker process for each `Reference`.
    """

    name = "reference"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._inherited: WorkerProcess | None = None
        self._loaded: set[int] = set()
        self._keys = itertools.count()
        self._dropped: deque[int] = deque()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_forget, weakref.ref(self)))

    def status(self) -> Status:
        """Returns whether jax and jaxlib are installed, with their versions."""
        return installed(self.name, "xla", {"jax": "jax", "jaxlib": "jaxlib"})

    def compile(
        self,
        text: str,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> ReferenceExecutable:
        """Returns `text` checked and held ready by the worker.

        The one option, `timeout`, is the seconds that one call may take before it is stopped
        with `CrashError`; it is 60 where absent. CHLO and batch normalization run decomposed.
        Nothing is kept in `cache`, for there is no compiled form beside the text. Raises
        `ParseError` or `VerifyError`, and `UnsupportedError` with the first operation
        that the interpreter lacks.
        """
        Numerics.of(numerics)
        seconds = _seconds(requested(text, options))
        status = self.status()
        if not status.ready:
            raise UnavailableError(status.detail)
        key = next(self._keys)
        with self._lock:
            types = self._load(self._live_worker(), key, text, seconds)
        executable = ReferenceExecutable(types, self, key, text, seconds)
        weakref.finalize(executable, self._dropped.append, key)
        return executable

    def deserialize(
        self, data: bytes | bytearray | memoryview, *, options: Mapping[str, Any] | None = None
    ) -> ReferenceExecutable:
        """Returns what `ReferenceExecutable.serialize` gave, loaded again; no options."""
        if requested("", options):
            raise CompileError(f"the reference runtime has no options here, got {options!r}")
        kept = unpacked(self.name, data)
        if kept is None:
            raise _unloadable()
        try:
            text, seconds = kept.code.decode(), float(kept.origin["timeout"])
        # A checksum does not say who wrote the rest.
        except (KeyError, ValueError) as error:
            raise _unloadable() from error
        return self.compile(text, options={"timeout": seconds})

    def run(self, key: int, text: str, arguments: Sequence[Array], seconds: float) -> list[Array]:
        """Returns the stored results of module `key`, loaded again where the worker is new."""
        with self._lock:
            worker = self._live_worker()
            if key not in self._loaded:
                self._load(worker, key, text, seconds)
            return self._ask(worker, {"module": key}, arguments, seconds)[1]

    def _live_worker(self) -> WorkerProcess:
        if self._worker is None or not self._worker.alive:
            self._loaded.clear()
            self._worker = WorkerProcess()
        return self._worker

    def _load(self, worker: WorkerProcess, key: int, text: str, seconds: float) -> ModuleSignature:
        header, _ = self._ask(worker, {"module": key, "text": text}, (), seconds)
        self._loaded.add(key)
        return ModuleSignature(_types(header["arguments"]), _types(header["results"]))

    def forget_worker(self) -> None:
        """Starts anew in a forked process, whose threads but the one that forked are gone."""
        self._lock = threading.Lock()
        # Its pipes may be locked for ever by a thread that is gone: it is kept, not destroyed.
        self._inherited, self._worker = self._worker, None
        self._loaded.clear()

    def _ask(
        self, worker: WorkerProcess, header: dict[str, Any], arrays: Sequence[Array], seconds: float
    ) -> tuple[dict[str, Any], list[Array]]:
        # Executables that are gone are named to the worker by the next request: a finalizer may
        # run at any moment and must not wait for the lock.
        dropped = [self._dropped.popleft() for _ in range(len(self._dropped))]
        self._loaded.difference_update(dropped)
        request = {**header, "dropped": dropped, "seconds": seconds}
        answer, results = worker.ask(request, arrays, seconds)
        if "error" in answer:
            raise _error(answer)
        return answer, results


class ReferenceExecutable(Executable):
    """A module of the reference interpreter; the results are arrays of the caller's own."""

    def __init__(
        self,
        signature: ModuleSignature,
        runtime: Reference,
        key: int,
        text: str,
        seconds: float,
    ) -> None:
        super().__init__(signature)
        self._runtime, self._key, self._text, self._seconds = runtime, key, text, seconds

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results; raises `CrashError` where the worker died or ran too long."""
        bits = [stored(array) for array in arguments]
        results = self._runtime.run(self._key, self._text, bits, self._seconds)
        return tuple(
            restored(array, wanted.dtype)
            for array, wanted in zip(results, self.signature.results, strict=True)
        )

    def serialize(self) -> bytes:
        """Returns the text with the seconds of a call, for any machine."""
        origin = {"timeout": repr(self._seconds)}
        return packed(self._runtime.name, self.signature, origin, self._text.encode())

    def __reduce__(self) -> NoReturn:
        raise ExecutionError("an executable of reference lives in its process: pickle the text")


def _forget(reference: weakref.ref[Reference]) -> None:
    runtime = reference()
    if runtime is not None:
        runtime.forget_worker()


def _seconds(options: Mapping[str, Any]) -> float:
    unknown = sorted(set(options) - {"timeout"})
    if unknown:
        raise CompileError(f"the reference runtime has one option, timeout, got {unknown[0]!r}")
    seconds = options.get("timeout", DEFAULT_SECONDS)
    if not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_SECONDS:
        raise CompileError(
            f"timeout needs a number of seconds up to {LONGEST_SECONDS:g}, got {seconds!r}"
        )
    return float(seconds)


def _unloadable() -> CompileError:
    return CompileError(
        "the reference runtime cannot load these bytes: they are damaged or none of its own"
    )


def _types(described: list[tuple[str, list[int]]]) -> tuple[ArrayType, ...]:
    return tuple(ArrayType(tuple(shape), np.dtype(name)) for name, shape in described)


def _error(answer: dict[str, Any]) -> ToposError:
    error: ToposError = getattr(errors, answer["error"])(*answer["details"])
    return error


RUNTIME = Reference()
