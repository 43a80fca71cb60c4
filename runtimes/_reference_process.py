"""The parent's end of one worker process: asked, timed, and ended with what it last said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Final

from topos.errors import CrashError, UnavailableError
from topos.runtimes._archive import Array
from topos.runtimes._frames import FrameError, receive, send, skip

__all__ = ["WorkerProcess"]

Answer = tuple[dict[str, Any], list[Array]]

WORKER: Final = "topos.runtimes._reference_worker"
STARTUP_SECONDS: Final = 120.0
ENDING_SECONDS: Final = 0.2
LAST_LINES: Final = 8
LONGEST_BANNER: Final = 2**16


class WorkerProcess:
    """A running worker; `alive` turns false for ever once it died or was ended.

    One caller at a time: the adapter holds a lock. Whatever interrupts a request, a timeout or
    an exception such as KeyboardInterrupt, ends the process, whose answer would come too late.
    """

    def __init__(self) -> None:
        # Open for as long as the process: `_end` closes it.
        self._said, self._process = _started()
        self._expired = threading.Event()
        # A process forked from this one holds the same pipes and must leave them alone.
        self._owner = os.getpid()
        # Called when this object goes, and when Python exits.
        self.end = weakref.finalize(self, _end, self._process, self._said, self._owner)
        greeting, _ = self._exchange(None, STARTUP_SECONDS)
        if greeting != {"ready": True}:
            self.end()
            raise UnavailableError(
                f"the reference runtime cannot be imported by its worker: {greeting.get('error')}"
            )

    @property
    def alive(self) -> bool:
        """Whether this worker can be asked, by this very process."""
        if os.getpid() != self._owner or self._expired.is_set() or not self.end.alive:
            return False
        return self._process.poll() is None

    def ask(self, header: dict[str, Any], arrays: Sequence[Array], seconds: float) -> Answer:
        """Returns the worker's answer, or raises `CrashError` where it died or ran too long."""
        return self._exchange((header, arrays), seconds)

    def _exchange(
        self, request: tuple[dict[str, Any], Sequence[Array]] | None, seconds: float
    ) -> Answer:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        try:
            timer.start()
            if request is None:
                # What Python prints while it starts is no answer and does no harm.
                return skip(answers, LONGEST_BANNER)
            send(requests, *request)
            return receive(answers)
        except (BrokenPipeError, EOFError):
            raise CrashError(self._last_words(seconds)) from None
        except FrameError as error:
            raise CrashError(self._last_words(seconds, error)) from None
        except BaseException:
            self.end()
            raise
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._expired.set()
        self._process.kill()

    def _last_words(self, seconds: float, strange: FrameError | None = None) -> str:
        stopped = strange is not None and self._still_runs()
        if stopped:
            self._process.kill()
        status = self._process.wait()
        lines = self._last_lines()
        self.end()
        if self._expired.is_set():
            cause = f"was stopped after {seconds:g} seconds"
        elif stopped:
            cause = "was stopped"
        elif status < 0:
            cause = f"died of {signal.Signals(-status).name}"
        else:
            cause = f"ended with status {status}"
        reason = f": {strange}" if strange else ""
        return "\n".join([f"the reference interpreter {cause}{reason}", *lines])

    def _still_runs(self) -> bool:
        # A worker that ended with its stream has a moment to be seen so.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING_SECONDS)
            return False
        return True

    def _last_lines(self) -> list[str]:
        self._said.seek(0)
        text = self._said.read().decode(errors="replace")
        return [line for line in text.splitlines() if line.strip()][-LAST_LINES:]


def _started() -> tuple[IO[bytes], subprocess.Popen[bytes]]:
    """Returns the file that takes the worker's standard error, and the worker."""
    if not sys.executable:
        raise UnavailableError("the reference runtime needs sys.executable, got none")
    try:
        said = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            return said, subprocess.Popen(
                [sys.executable, "-P", "-m", WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env={**os.environ, "PYTHONPATH": _import_path()},
            )
        except BaseException:
            said.close()
            raise
    # No folder for temporary files, no such program, too few file descriptors or processes.
    except OSError as error:
        raise UnavailableError(f"the reference runtime cannot start its worker: {error}") from error


def _end(process: subprocess.Popen[bytes], said: IO[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return
    process.kill()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        # What was still to be written has no reader any more.
        with suppress(BrokenPipeError):
            stream.close()
    process.wait()
    said.close()


def _import_path() -> str:
    """Returns this process's import path, so that the worker finds the same topos."""
    # Python itself passes over whatever is no string here.
    folders = [folder for folder in sys.path if isinstance(folder, str)]
    return os.pathsep.join(map(os.path.abspath, folders))
