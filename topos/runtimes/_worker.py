"""The process that compiles and runs the modules of one runtime, so that only it dies of them.

It answers one frame with one frame until its input ends. A request names an action; an answer
holds what the action returned, or an error of topos by class and arguments. Executables and placed
arrays stay here under the keys that the requests give them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from topos.errors import TextError, ToposError
from topos.runtimes._archive import Array, restored, stored
from topos.runtimes._frames import receive, send
from topos.runtimes._runtime import Executable, Runtime

Header = dict[str, Any]
Answer = tuple[Header, list[Array]]

# How long after the parent's own limit the system ends a process whose parent is gone.
GRACE_SECONDS: Final = 5.0
# What fails while a module runs is an ExecutionError; everything else comes before.
RUNNING: Final = frozenset({"run", "time"})


def main() -> None:
    """Answers requests from standard input on standard output until the input ends."""
    # Ctrl-C reaches the whole process group, and it is the parent's to decide what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, _private_output()
    # Foreign packages are loaded only now that they can print without harm.
    try:
        runtime = _ready(sys.argv[1])
    except Exception as error:
        # A broken package raises whatever stands in its way.
        send(answers, {"error": _told(error)})
        return
    worker = Worker(runtime)
    send(answers, {"ready": True})
    while True:
        try:
            send(answers, *worker.answer(*receive(requests)))
        except (EOFError, BrokenPipeError):
            return


def _private_output() -> IO[bytes]:
    """Returns standard output, and leaves standard error to whatever prints there from now on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _ready(adapter: str) -> Runtime:
    """Returns the adapter of that module, its packages loaded and its device started."""
    runtime: Runtime = import_module(adapter).RUNTIME
    # What is missing here is told to the first request, which may want another device.
    with suppress(ToposError):
        runtime.place(0.0)
    return runtime


class Worker:
    """A runtime with the executables and the placed arrays that its parent knows by key."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._held: dict[int, Any] = {}

    def answer(self, header: Header, arrays: list[Array]) -> Answer:
        """Returns what the request gives, or the error that stands in its way."""
        for key in header["dropped"]:
            self._held.pop(key, None)
        _arm(header["seconds"] + GRACE_SECONDS)
        try:
            return ACTIONS[header["do"]](self, header, arrays)
        except ToposError as error:
            return {"error": type(error).__name__, "details": _details(error)}, []
        # Whatever else a foreign package raises is told by its class.
        except Exception as error:
            kind = "ExecutionError" if header["do"] in RUNNING else "CompileError"
            reason = f"{self._runtime.name} failed at the module: {_told(error)}"
            return {"error": kind, "details": [reason]}, []
        finally:
            _arm(0.0)

    def compile(self, header: Header, arrays: list[Array]) -> Answer:
        """Compiles a text."""
        text = arrays[0].tobytes().decode(errors="surrogatepass")
        folder = header["cache"]
        return self._keep(
            header,
            self._runtime.compile(
                text,
                numerics=header["numerics"],
                options=header["options"],
                cache=None if folder is None else Path(folder),
            ),
        )

    def deserialize(self, header: Header, arrays: list[Array]) -> Answer:
        """Loads a compiled form."""
        data = arrays[0].tobytes()
        return self._keep(header, self._runtime.deserialize(data, options=header["options"]))

    def place(self, header: Header, arrays: list[Array]) -> Answer:
        """Holds an array, where the runtime wants it."""
        array = restored(arrays[0], np.dtype(header["dtype"]))
        self._held[header["key"]] = self._runtime.place(array, options=header["options"])
        return {}, []

    def bind(self, header: Header, arrays: list[Array]) -> Answer:
        """Binds placed arrays to an executable."""
        placed = {int(place): self._held[key] for place, key in header["resident"].items()}
        return self._keep(header, self._held[header["of"]].bind(placed))

    def run(self, header: Header, arrays: list[Array]) -> Answer:
        """Calls an executable once."""
        executable, arguments = self._called(header, arrays)
        return {}, [stored(result) for result in executable(*arguments)]

    def time(self, header: Header, arrays: list[Array]) -> Answer:
        """Calls an executable for some seconds and returns how long each call took."""
        executable, arguments = self._called(header, arrays)
        timing = executable.timed(arguments, header["time"], header["threads"])
        return {"elapsed": timing.elapsed}, [timing.latencies]

    def serialize(self, header: Header, arrays: list[Array]) -> Answer:
        """Returns the compiled form of an executable."""
        data = self._held[header["key"]].serialize()
        return {}, [np.frombuffer(data, np.uint8)]

    def memory(self, header: Header, arrays: list[Array]) -> Answer:
        """Returns what an executable needs."""
        return {"figures": self._held[header["key"]].memory()}, []

    def cost(self, header: Header, arrays: list[Array]) -> Answer:
        """Returns what an executable costs."""
        return {"figures": self._held[header["key"]].cost()}, []

    def _keep(self, header: Header, executable: Executable) -> Answer:
        self._held[header["key"]] = executable
        arguments, results = (
            [[each.dtype.name, each.shape] for each in types] for types in executable.signature
        )
        return {"arguments": arguments, "results": results}, []

    def _called(self, header: Header, arrays: list[Array]) -> tuple[Executable, list[Array]]:
        executable: Executable = self._held[header["key"]]
        types = executable.signature.arguments
        return executable, [
            restored(array, each.dtype) for array, each in zip(arrays, types, strict=True)
        ]


ACTIONS: Final[dict[str, Callable[[Worker, Header, list[Array]], Answer]]] = {
    each.__name__: each
    for each in (
        *(Worker.compile, Worker.deserialize, Worker.place, Worker.bind, Worker.run, Worker.time),
        *(Worker.serialize, Worker.memory, Worker.cost),
    )
}


def _arm(seconds: float) -> None:
    # A foreign library may hold the interpreter lock of Python, so only the system can end it; a
    # platform without timers relies on the parent alone.
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _details(error: ToposError) -> list[Any]:
    if isinstance(error, TextError):
        return [error.reason, error.line, error.column, error.source_line]
    return [str(error)]


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
