"""What the commands that run modules share: files in, files out, diagnostics on standard error."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from topos.engine import Numerics
from topos.errors import ArgumentError, TextError, ToposError, UnavailableError
from topos.runtimes import load as load_runtime
from topos.runtimes._archive import Array, load, save
from topos.runtimes._runtime import ModuleSignature, Runtime, isolating
from topos.runtimes.interpreter.budget import StepsError
from topos.stablehlo.forms import text_of

__all__ = ["DONE", "FAILED", "UNUSABLE", "Job", "complain", "describe", "run", "text_in", "told"]

# The exit statuses of the commands.
DONE, FAILED, UNUSABLE = 0, 1, 2
# What a shell reports of a process that died of the signal that Ctrl-C sends.
INTERRUPTED = 128 + signal.SIGINT


class Job(NamedTuple):
    """One module to run: the paths of its text, of its arguments, and for its results."""

    module: str
    arguments: str
    results: str


def run(jobs: Iterable[Job], runtime: str, numerics: Numerics) -> int:
    """Runs every job, tells each failure on standard error, and returns the exit status.

    A foreign runtime runs in its worker. A job that fails writes no results, and does not stop
    the next one.
    """
    adapter = load_runtime(runtime)
    options = isolating(adapter)
    with _terminable():
        statuses = [_attempt(job, adapter, numerics, options) for job in jobs]
    return max(statuses, default=DONE)


def describe(path: str, error: ToposError) -> str:
    """Returns `error` told of `path`; one with a place as `path:line:column: reason`, then it."""
    if isinstance(error.__cause__, StepsError):
        error = error.__cause__
    if not isinstance(error, TextError) or not error.line:
        return f"{path}: {error}"
    return f"{path}:{error.line}:{error.column}: {error.reason}{error.excerpt()}"


def text_in(path: str, data: bytes) -> str:
    """Returns the text of the module that a file holds, in whatever form it holds it."""
    try:
        return text_of(data)
    # A binary form without jaxlib: the text that a bundle has beside it needs none.
    except UnavailableError as error:
        text = _text_beside(Path(path))
        beside = "" if text is None else f"; its text is {text}"
        raise UnavailableError(f"{path}: {error}{beside}") from error


def _text_beside(artifact: Path) -> Path | None:
    """Returns the text of an artifact that a bundle's manifest pairs with it, if one does."""
    try:
        manifest = json.loads((artifact.parent / "manifest.json").read_bytes())
        pairs = {each["artifact"]["name"]: each["module"]["name"] for each in manifest["programs"]}
        text = artifact.parent / pairs[artifact.name]
    # Any file may be called so.
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return text if text.is_file() else None


@contextmanager
def _terminable() -> Iterator[None]:
    """Lets SIGTERM unwind this process, so that no half of a file stays behind."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, _frame: object) -> NoReturn:
    # What a shell reports of a process that died of the signal.
    raise SystemExit(128 + number)


def told(report: Callable[[], int]) -> int:
    """Returns what `report` returns, or `FAILED` where nobody takes what it prints.

    One that Ctrl-C ends returns `INTERRUPTED`.
    """
    # What was closed before the start is None, on which print does nothing without a word.
    closed = sys.stdout is None
    try:
        with redirect_stdout(_Closed()) if closed else nullcontext():
            status = report()
            # A full or closed pipe may first be noticed where the rest is written.
            print(end="", flush=True)
        return status
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except OSError as error:
        if not closed:
            _discard_output()
        # Standard error may be as closed as standard output.
        with suppress(OSError):
            complain(f"standard output takes nothing more: {error.strerror}")
        return FAILED


def complain(message: str) -> None:
    """Prints a message on standard error, unless that was closed before the start."""
    # Without a file print would take standard output, which is for results.
    if sys.stderr is not None:
        print(message, file=sys.stderr)


class _Closed(io.TextIOBase):
    """A stream in place of one that is closed: it takes nothing, and says so."""

    def write(self, text: str) -> int:
        if text:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return 0


def _discard_output() -> None:
    # Python writes what is left at its end, and would fail there once more.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _attempt(job: Job, runtime: Runtime, numerics: Numerics, options: Mapping[str, Any]) -> int:
    try:
        text = text_in(job.module, Path(job.module).read_bytes())
        executable = runtime.compile(text, numerics=numerics, options=options)
        arguments = _arguments(job.arguments, executable.signature)
        save(job.results, executable(*arguments), "result")
    except UnavailableError as error:
        return _fail(str(error), UNUSABLE)
    except ToposError as error:
        return _fail(describe(job.module, error), FAILED)
    except OSError as error:
        return _fail(str(error), UNUSABLE)
    return DONE


def _arguments(path: str, signature: ModuleSignature) -> list[Array]:
    try:
        return load(path, signature.arguments, "arg")
    except ArgumentError as error:
        # To a shell, an archive that is damaged or another one is a file that cannot be read.
        raise OSError(str(error)) from error


def _fail(message: str, status: int) -> int:
    complain(message)
    return status
