"""The process that runs the reference interpreter, so that only this process dies of it.

It answers one frame with one frame until its input ends. A request loads a module from its text,
or runs one that is loaded; an answer holds results, or an error of topos by class and arguments.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import IO, TYPE_CHECKING, Any

from topos.errors import ParseError, ToposError
from topos.runtimes._archive import Array
from topos.runtimes._frames import receive, send

if TYPE_CHECKING:
    from topos.runtimes._reference_module import ReferenceModule

Answer = tuple[dict[str, Any], list[Array]]

# How long after the parent's own limit the system ends a process whose parent is gone.
GRACE_SECONDS = 5.0


def main() -> None:
    """Answers requests from standard input on standard output until the input ends."""
    # Ctrl-C reaches the whole process group, and it is the parent's to decide what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, _private_output()
    # jax is loaded only now that it can print without harm.
    try:
        from topos.runtimes._reference_module import ReferenceModule
    except Exception as error:
        # A broken package raises whatever stands in its way.
        send(answers, {"error": f"{type(error).__name__}: {error}"})
        return
    modules: dict[int, ReferenceModule] = {}
    send(answers, {"ready": True})
    while True:
        try:
            header, arrays = receive(requests)
            send(answers, *_answer(ReferenceModule, modules, header, arrays))
        except (EOFError, BrokenPipeError):
            return


def _private_output() -> IO[bytes]:
    """Returns standard output, and leaves standard error to whatever prints there from now on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _answer(
    make: type[ReferenceModule],
    modules: dict[int, ReferenceModule],
    header: dict[str, Any],
    arrays: list[Array],
) -> Answer:
    for dropped in header["dropped"]:
        modules.pop(dropped, None)
    key = header["module"]
    _arm(header["seconds"] + GRACE_SECONDS)
    try:
        if "text" in header:
            modules[key] = make(header["text"])
            return _described(modules[key]), []
        return {}, modules[key].run(arrays)
    except ToposError as error:
        return {"error": type(error).__name__, "details": _details(error)}, []
    finally:
        _arm(0.0)


def _arm(seconds: float) -> None:
    # The interpreter holds the interpreter lock of Python, so only the system can end it; a
    # platform without timers relies on the parent alone.
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _described(module: ReferenceModule) -> dict[str, Any]:
    arguments, results = (
        [[each.dtype.name, each.shape] for each in types] for types in module.signature
    )
    return {"arguments": arguments, "results": results}


def _details(error: ToposError) -> list[Any]:
    if isinstance(error, ParseError):
        return [error.reason, error.line, error.column, error.source_line]
    return [str(error)]


if __name__ == "__main__":
    main()
