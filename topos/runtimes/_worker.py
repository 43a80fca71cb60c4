"""The process that compiles and runs the modules of one runtime, so that only it dies of them.

It answers one message with one message until its parent's end of the socket closes. A request names
an action; an answer holds what the action returned, or an error of topos by class and arguments.
Executables and placed arrays stay here under the keys that the requests give them.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

from topos.errors import TextError, ToposError
from topos.runtimes._archive import Array, restored, stored
from topos.runtimes._runtime import Executable, Runtime
from topos.runtimes._worker_process import Message, receive, send

Header = dict[str, Any]

# How long after the parent's own limit the system ends a process whose parent is gone.
GRACE_SECONDS: Final = 5.0
# What fails while a module runs is an ExecutionError; everything else comes before.
RUNNING: Final = frozenset({"run", "time"})


def main(adapter: str, descriptor: int) -> None:
    """Answers requests at the socket of that file descriptor until its other end closes."""
    # Ctrl-C reaches the whole process group, and it is the parent's to decide what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(descriptor) as connection:
        try:
            worker = Worker(_ready(adapter))
        except Exception as error:
            # A broken package raises whatever stands in its way.
            send(connection, {"error": _told(error)})
            return
        send(connection, {"ready": True})
        with suppress(EOFError, ConnectionError):
            while True:
                send(connection, *worker.answer(*receive(connection)))


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

    def answer(self, header: Header, arrays: list[Array]) -> Message:
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

    def compile(self, header: Header, arrays: list[Array]) -> Message:
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

    def deserialize(self, header: Header, arrays: list[Array]) -> Message:
        """Loads a compiled form."""
        data = arrays[0].tobytes()
        return self._keep(header, self._runtime.deserialize(data, options=header["options"]))

    def restore(self, header: Header, arrays: list[Array]) -> Message:
        """Loads the compiled form of a text."""
        text = arrays[0].tobytes().decode(errors="surrogatepass")
        data, options = arrays[1].tobytes(), header["options"]
        numerics = header["numerics"]
        return self._keep(
            header, self._runtime.restore(text, data, numerics=numerics, options=options)
        )

    def place(self, header: Header, arrays: list[Array]) -> Message:
        """Holds an array, where the runtime wants it."""
        array = restored(arrays[0], np.dtype(header["dtype"]))
        self._held[header["key"]] = self._runtime.place(array, options=header["options"])
        return {}, []

    def bind(self, header: Header, arrays: list[Array]) -> Message:
        """Binds placed arrays to an executable."""
        placed = {int(place): self._held[key] for place, key in header["resident"].items()}
        return self._keep(header, self._held[header["of"]].bind(placed))

    def run(self, header: Header, arrays: list[Array]) -> Message:
        """Calls an executable once."""
        executable, arguments = self._called(header, arrays)
        return {}, [stored(result) for result in executable(*arguments)]

    def time(self, header: Header, arrays: list[Array]) -> Message:
        """Calls an executable for some seconds and returns how long each call took."""
        executable, arguments = self._called(header, arrays)
        timing = executable.timed(arguments, header["time"], header["threads"])
        return {"elapsed": timing.elapsed}, [timing.latencies]

    def serialize(self, header: Header, arrays: list[Array]) -> Message:
        """Returns the compiled form of an executable."""
        data = self._held[header["key"]].serialize()
        return {}, [np.frombuffer(data, np.uint8)]

    def memory(self, header: Header, arrays: list[Array]) -> Message:
        """Returns what an executable needs."""
        return {"figures": self._held[header["key"]].memory()}, []

    def cost(self, header: Header, arrays: list[Array]) -> Message:
        """Returns what an executable costs."""
        return {"figures": self._held[header["key"]].cost()}, []

    def _keep(self, header: Header, executable: Executable) -> Message:
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


ACTIONS: Final[dict[str, Callable[[Worker, Header, list[Array]], Message]]] = {
    each.__name__: each
    for each in (
        *(Worker.compile, Worker.deserialize, Worker.restore, Worker.place, Worker.bind),
        *(Worker.run, Worker.time, Worker.serialize, Worker.memory, Worker.cost),
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
    main(sys.argv[1], int(sys.argv[2]))
