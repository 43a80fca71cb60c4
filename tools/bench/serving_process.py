"""A server in a process of its own: started, looked at from outside, and ended in any case."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Memory", "ServerProcess", "memory", "serving", "topos_serve"]

START_SECONDS: Final = 120.0
END_SECONDS: Final = 45.0
POLL_SECONDS: Final = 0.05
# From linux/prctl.h: the system ends the child where its parent has died.
PARENT_DEATH_SIGNAL: Final = 1
TICKS: Final = os.sysconf("SC_CLK_TCK")


class Memory(NamedTuple):
    """Megabytes of processes: their share of what they hold, what of it is no file, their peak.

    The share in files, such as libraries, moves with whoever else on the machine maps them.
    """

    share: float
    written: float
    peak: float


class ServerProcess:
    """A server that has announced its address; its workers are its children."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path) -> None:
        self.process, self._said = process, said
        self.port = 0

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    def workers(self) -> list[int]:
        """Returns the numbers of its child processes, which are listed by thread."""
        found: list[int] = []
        for listed in Path("/proc").glob(f"{self.process.pid}/task/*/children"):
            with contextlib.suppress(OSError):
                found += map(int, listed.read_text().split())
        return sorted(found)

    def processes(self) -> list[int]:
        """Returns the number of the server itself, then of its workers."""
        return [self.process.pid, *self.workers()]

    def processor_seconds(self) -> list[float]:
        """Returns the processor's time of the server, then of its workers."""
        return [_processor_seconds(number) for number in self.processes()]

    def said(self) -> str:
        """Returns the last lines on its standard error."""
        return "\n".join(self._said.read_text(errors="replace").splitlines()[-20:])

    def end(self, seconds: float = END_SECONDS) -> int:
        """Ends it as an operator does, and returns its exit status; kills what does not end."""
        if self.running:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """Kills the server and whatever it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def serving(command: Sequence[str], folder: Path) -> Iterator[ServerProcess]:
    """Gives the server that a command starts, once it prints a line with its address.

    What it says goes to files in `folder`. Nothing of it is left running afterwards.
    """
    said = folder / f"server{time.monotonic_ns()}.log"
    with said.with_suffix(".out").open("wb") as output, said.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    server = ServerProcess(process, said)
    try:
        server.port = _announced(server, said.with_suffix(".out"))
        yield server
    finally:
        server.kill()


def topos_serve(*arguments: str) -> list[str]:
    """Returns the command that serves on a free port of this machine alone."""
    return [sys.executable, "-m", "topos", "serve", "--port", "0", *arguments]


def memory(processes: Sequence[int]) -> Memory:
    """Returns the memory of all those processes together; one that is gone has none."""
    figures = [_memory(number) for number in processes]
    return Memory(*(sum(column) for column in zip(*figures, strict=True)))


def _announced(server: ServerProcess, output: Path) -> int:
    """Returns the port that the server tells once it serves."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.running:
        found = re.search(rb"http://127\.0\.0\.1:(\d+)", output.read_bytes())
        if found:
            return int(found[1])
        time.sleep(POLL_SECONDS)
    raise RuntimeError(f"the server did not start:\n{server.said()}")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _memory(number: int) -> Memory:
    try:
        rollup = _kilobytes(Path(f"/proc/{number}/smaps_rollup").read_text())
        status = _kilobytes(Path(f"/proc/{number}/status").read_text())
    except OSError:
        return Memory(0.0, 0.0, 0.0)
    written = rollup["Pss_Anon"] + rollup["Pss_Shmem"]
    return Memory(*(each * 1.024e-3 for each in (rollup["Pss"], written, status["VmHWM"])))


def _kilobytes(text: str) -> dict[str, int]:
    pairs = re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)
    return {name: int(number) for name, number in pairs}


def _processor_seconds(number: int) -> float:
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return 0.0
    # The name of the command stands in parentheses and may have spaces; user and system time
    # are the fourteenth and fifteenth field (proc(5)).
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
