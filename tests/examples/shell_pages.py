"""The shell lines of a page, run as a reader types them: one after the other in one bash."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import IO, Final, NamedTuple

from tests.project.paths import ROOT

__all__ = ["Step", "run_page", "steps"]

# A bound on what hangs, far more than a page takes on a machine that does much else.
SECONDS: Final = 300.0
OPTIONS: Final = ELLIPSIS | NORMALIZE_WHITESPACE
PORT: Final = "8000"
MARK: Final = "-- status "


class Step(NamedTuple):
    """A command, and the lines that it prints; `...` in them stands for anything."""

    command: str
    printed: tuple[str, ...]


def steps(text: str) -> list[Step]:
    """Returns the commands of all `console` blocks of a page, in their order."""
    found: list[Step] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append(Step(line[2:], ()))
        elif inside and line.startswith("> "):
            found[-1] = Step(f"{found[-1].command}\n{line[2:]}", ())
        elif inside:
            found[-1] = Step(found[-1].command, (*found[-1].printed, line))
    return found


def run_page(page: Path, folder: Path) -> None:
    """Runs a page in `folder`, as if it were a checkout; raises where it prints anything else."""
    (folder / "examples").symlink_to(ROOT / "examples")
    port = str(_free_port())
    with _bash(folder) as bash:
        for step in steps(page.read_text(encoding="utf-8").replace(PORT, port)):
            status, lines = _run(bash, step)
            told = (folder / "errors").read_text(encoding="utf-8", errors="replace")
            got = "".join(lines)
            assert status == 0, f"{step.command} ended with {status}: {got}{told}"
            want = "".join(f"{line}\n" for line in step.printed)
            fits = OutputChecker().check_output(want, got, OPTIONS)
            assert fits, f"{step.command} printed\n{got}instead of\n{want}{told}"


def _run(bash: subprocess.Popen[str], step: Step) -> tuple[int, list[str]]:
    """Returns the exit status of a command and what it printed.

    One that goes on in the background has printed enough once it printed what the page has.
    """
    assert bash.stdin is not None
    assert bash.stdout is not None
    bash.stdin.write(f"{step.command}\necho '{MARK}'$?\n")
    bash.stdin.flush()
    due = sum(line != "..." for line in step.printed)
    status, lines = -1, list[str]()
    for line in _lines(bash.stdout):
        # What curl prints has no end of line.
        printed, marked, ended = line.partition(MARK)
        status = int(ended) if marked else status
        lines += [f"{printed.rstrip()}\n"] if printed else []
        if status >= 0 and (status > 0 or len(lines) >= due):
            return status, lines
    raise AssertionError(f"{step.command} printed only {lines} within {SECONDS:g} seconds")


def _lines(stream: IO[str]) -> Iterator[str]:
    return iter(stream.readline, "")


@contextmanager
def _bash(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A shell whose `python` and `topos` are ours; what it started ends with the block."""
    with (
        (folder / "errors").open("wb") as errors,
        subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        ) as bash,
    ):
        end = threading.Timer(SECONDS, _kill, [bash.pid])
        end.start()
        try:
            yield bash
        finally:
            end.cancel()
            _kill(bash.pid)


def _kill(group: int) -> None:
    os.killpg(group, signal.SIGKILL)


def _environment(folder: Path) -> dict[str, str]:
    commands = folder / "commands"
    commands.mkdir()
    for name, module in (("python", ""), ("topos", " -m topos")):
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{module} "$@"\n')
        script.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOPOS_")}
    path = f"{commands}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return {**kept, "PATH": path, "COLUMNS": "80", "FORCE_COLOR": "", "no_proxy": "*"}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
