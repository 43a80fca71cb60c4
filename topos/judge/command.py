"""A program that is judged: one run of it on files, and what it said where it fails."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Final

from topos import runtimes
from topos.errors import ArgumentError, ExecutionError, UnavailableError
from topos.runtimes._archive import load, save
from topos.runtimes._signature import ModuleSignature, require_results
from topos.runtimes.interpreter.program import Array

# How long a program may take, and how much of what it said is told.
SECONDS: Final = 600.0
LINES, LONGEST, KEPT = 8, 400, 2**16


def command_results(
    command: str,
    text: str,
    arguments: Sequence[Array],
    signature: ModuleSignature,
    seconds: float = SECONDS,
) -> tuple[Array, ...]:
    """Returns the results that `COMMAND MODULE ARGS.npz RESULTS.npz` writes for a module's text.

    The archives hold arg0, arg1, ... and result0, result1, ..., as those of `topos run`. Raises
    `UnavailableError` where there is no such program, and `ExecutionError` where it fails, takes
    longer than `seconds`, or writes no such results.
    """
    words = words_of(command)
    with tempfile.TemporaryDirectory() as folder:
        module, given, written = (
            Path(folder) / name for name in ("module.mlir", "args.npz", "results.npz")
        )
        try:
            module.write_text(text, encoding="utf-8")
            save(given, arguments, "arg")
        except OSError as error:
            raise UnavailableError(f"{error.filename or folder}: {error.strerror}") from error
        _run([*words, str(module), str(given), str(written)], seconds)
        if not written.is_file():
            raise ExecutionError(f"{words[0]} ended well and wrote no results")
        try:
            results = tuple(load(written, signature.results, "result"))
        except (ArgumentError, OSError) as error:
            raise ExecutionError(f"{words[0]}: {error}") from error
        require_results(results, signature.results)
        return results


def words_of(command: object) -> list[str]:
    """Returns the words of a command line; raises `ArgumentError` for what is none."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        words = []
    if not words or "\0" in str(command):
        raise ArgumentError(f"a runtime is a name or a command line, got {command!r}")
    return words


def _run(command: Sequence[str], seconds: float) -> None:
    """Runs a program and all that it starts in the foreground; raises what `command_results` does.

    What it prints goes to a file: a pipe would be held open by whatever it leaves running.
    """
    name = command[0]
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                start_new_session=not _has_guardian(),
            )  # fmt: skip
        except FileNotFoundError as error:
            raise UnavailableError(_unknown(name)) from error
        except OSError as error:
            raise UnavailableError(f"{name}: {error.strerror}") from error
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ExecutionError(f"{name} took longer than {seconds:g} seconds") from None
        finally:
            _end(process)
        if status:
            told = "\n".join(_last_lines(said))
            raise ExecutionError(f"{name} {ending(status)}{': ' if told else ''}{told}")


def _unknown(name: str) -> str:
    known = runtimes.names()
    if name in known:
        return f"the runtime {name} takes no words behind its name: give options with --option"
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the runtimes are {', '.join(known)}"
    return f"no runtime and no program is called {name}; {hint}"


def _has_guardian() -> bool:
    """Returns whether whoever ends this process ends its whole group, as a triage's parent does."""
    return multiprocessing.parent_process() is not None and os.getsid(0) == os.getpid()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program, and what it left running where it has a group of its own."""
    if not _has_guardian():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _last_lines(said: IO[bytes]) -> list[str]:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - KEPT))
    lines = said.read().decode(errors="replace").strip().splitlines()
    return [line[:LONGEST] for line in lines[-LINES:]]


def ending(status: int) -> str:
    """Returns how a process ended, negative for a signal."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    # Most of the real-time signals have no name.
    except ValueError:
        return f"was ended by signal {-status}"
