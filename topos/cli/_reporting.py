"""What a command tells: its exit status, and diagnostics on standard error."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from typing import NoReturn

from topos.errors import ArgumentError, TextError, ToposError, UnavailableError
from topos.runtimes.interpreter.program import StepsError

# The exit statuses of the commands.
DONE, FAILED, UNUSABLE = 0, 1, 2
# What a shell reports of a process that died of the signal that Ctrl-C sends.
INTERRUPTED = 128 + signal.SIGINT


def told(report: Callable[[], int]) -> int:
    """Returns what `report` returns, or `FAILED` where nobody takes what it prints.

    One that Ctrl-C ends returns `INTERRUPTED`, and one that an error ends as `status_of` says.
    """
    # What was closed before the start is None, on which print does nothing without a word.
    closed = sys.stdout is None
    try:
        with redirect_stdout(_Closed()) if closed else nullcontext():
            status = status_of(report)
            # A full or closed pipe may first be noticed where the rest is written.
            print(end="", flush=True)
        return status
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted, as `head` has: there is nobody to tell.
        _discard_output()
        return FAILED
    except OSError as error:
        if not closed:
            _discard_output()
        # Standard error may be as closed as standard output.
        with suppress(OSError):
            complain(f"standard output takes nothing more: {error.strerror}")
        return FAILED


def status_of(report: Callable[[], int], path: str = "") -> int:
    """Returns what `report` returns, or the status of its error, which is told on standard error.

    What is wrong with a file is told of its `path`.
    """
    try:
        return report()
    except ArgumentError as error:
        told, status = f"{path}: {error}" if path else str(error), UNUSABLE
    except UnavailableError as error:
        told, status = str(error), UNUSABLE
    except ToposError as error:
        told, status = describe(path, error) if path else str(error), FAILED
    except MemoryError as error:
        needs = f"more memory than there is: {error}" if str(error) else "more memory than there is"
        told, status = f"{path}: needs {needs}" if path else f"needs {needs}", FAILED
    complain(told)
    return status


def complain(message: str) -> None:
    """Prints a message on standard error, unless that was closed before the start."""
    # Without a file print would take standard output, which is for results.
    if sys.stderr is not None:
        print(message, file=sys.stderr)


def describe(path: str, error: ToposError) -> str:
    """Returns `error` told of `path`; one with a place as `path:line:column: reason`, then it."""
    if isinstance(error.__cause__, StepsError):
        error = error.__cause__
    if not isinstance(error, TextError) or not error.line:
        return f"{path}: {error}"
    return f"{path}:{error.line}:{error.column}: {error.reason}{error.excerpt()}"


@contextmanager
def terminable() -> Iterator[None]:
    """Lets SIGTERM unwind this process, so that no half of a file stays behind."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, _frame: object) -> NoReturn:
    # What a shell reports of a process that died of the signal.
    raise SystemExit(128 + number)


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
