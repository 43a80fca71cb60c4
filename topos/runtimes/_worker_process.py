"""The parent's end of one worker process: asked, timed, and ended with what it last said."""

from __future__ import annotations

import os
import re
import shutil
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
from topos.runtimes._compile_cache import VARIABLE
from topos.runtimes._frames import FrameError, receive, send, skip

__all__ = ["WorkerProcess"]

Answer = tuple[dict[str, Any], list[Array]]

WORKER: Final = "topos.runtimes._worker"
STARTUP_SECONDS: Final = 120.0
ENDING_SECONDS: Final = 0.2
LAST_LINES: Final = 8
# A frame of a stack that a C++ library prints as it ends its process.
STACK_FRAME: Final = re.compile(r"\s*@ +0x[0-9a-f]+ ")
LONGEST_BANNER: Final = 2**16


class WorkerProcess:
    """A worker of one runtime; `alive` turns false for ever once it died or was ended.

    It starts while its owner goes on, who waits for it in the first request. One caller at a
    time: the owner holds a lock. Whatever interrupts a request, a timeout or an exception such as
    KeyboardInterrupt, ends the process, whose answer would come too late.
    """

    def __init__(self, runtime: str, adapter: str) -> None:
        self._runtime = runtime
        # Open for as long as the process: `_end` closes it.
        self._said, self._folder, self._process = _started(runtime, adapter)
        self._expired = threading.Event()
        # A process forked from this one holds the same pipes and must leave them alone.
        self._owner = os.getpid()
        self._greeted = False
        # Called when this object goes, and when Python exits.
        self.end = weakref.finalize(
            self, _end, self._process, self._said, self._folder, self._owner
        )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def folder(self) -> str:
        """The folder of its temporary files, which goes with the process."""
        return self._folder

    @property
    def alive(self) -> bool:
        """Whether this worker can be asked, by this very process."""
        if os.getpid() != self._owner or self._expired.is_set() or not self.end.alive:
            return False
        return self._process.poll() is None

    def ask(
        self, header: dict[str, Any], arrays: Sequence[Array], seconds: float, doing: str
    ) -> Answer:
        """Returns the worker's answer, or raises `CrashError` where it died or ran too long.

        `doing` tells in the error what the worker was asked to do.
        """
        if not self._greeted:
            self._greet()
        return self._exchange((header, arrays), seconds, doing)

    def _greet(self) -> None:
        greeting, _ = self._exchange(None, STARTUP_SECONDS, "started")
        if greeting != {"ready": True}:
            self.end()
            raise UnavailableError(
                f"the {self._runtime} runtime cannot be imported by its worker: "
                f"{greeting.get('error')}"
            )
        self._greeted = True

    def _exchange(
        self, request: tuple[dict[str, Any], Sequence[Array]] | None, seconds: float, doing: str
    ) -> Answer:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        before = 0 if request is None else os.fstat(self._said.fileno()).st_size
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        try:
            timer.start()
            if request is None:
                # What Python prints while it starts is no answer and does no harm.
                return skip(answers, LONGEST_BANNER)
            send(requests, *request)
            return receive(answers)
        except (BrokenPipeError, EOFError, FrameError) as error:
            strange = error if isinstance(error, FrameError) else None
            raise CrashError(self._last_words(seconds, doing, before, strange)) from None
        except BaseException:
            self.end()
            raise
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._expired.set()
        _kill(self._process)

    def _last_words(
        self, seconds: float, doing: str, before: int, strange: FrameError | None
    ) -> str:
        stopped = strange is not None and self._still_runs()
        if stopped:
            _kill(self._process)
        status = self._process.wait()
        lines = self._last_lines(before)
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
        return "\n".join([f"the {self._runtime} runtime {cause} while it {doing}{reason}", *lines])

    def _still_runs(self) -> bool:
        # A worker that ended with its stream has a moment to be seen so.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING_SECONDS)
            return False
        return True

    def _last_lines(self, before: int) -> list[str]:
        """Returns what was said last since the file was `before` bytes long."""
        self._said.seek(before)
        text = self._said.read().decode(errors="replace")
        told = (line for line in text.splitlines() if line.strip())
        return [line for line in told if not STACK_FRAME.match(line)][-LAST_LINES:]


def _started(runtime: str, adapter: str) -> tuple[IO[bytes], str, subprocess.Popen[bytes]]:
    """Returns the file that takes the worker's standard error, its temporary folder, and it."""
    if not sys.executable:
        raise UnavailableError(f"the {runtime} runtime needs sys.executable, got none")
    try:
        said = tempfile.TemporaryFile()  # noqa: SIM115
        folder = tempfile.mkdtemp(prefix="topos-")
        try:
            return (
                said,
                folder,
                subprocess.Popen(
                    [sys.executable, "-P", "-m", WORKER, adapter],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    env=_environment(folder),
                    # A group of its own, which ends as a whole.
                    start_new_session=True,
                ),
            )
        except BaseException:
            said.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise
    # No folder for temporary files, no such program, too few file descriptors or processes.
    except OSError as error:
        raise UnavailableError(f"the {runtime} runtime cannot start its worker: {error}") from error


def _end(process: subprocess.Popen[bytes], said: IO[bytes], folder: str, owner: int) -> None:
    if os.getpid() != owner:
        return
    _kill(process)
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        # What was still to be written has no reader any more.
        with suppress(BrokenPipeError):
            stream.close()
    process.wait()
    said.close()
    shutil.rmtree(folder, ignore_errors=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the worker and what it started, such as IREE's compiler."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    # Nothing of the group may be left.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment(folder: str) -> dict[str, str]:
    """Returns this process's environment, with its import path: the worker finds the same topos.

    A request names its compile cache itself. Temporary files go to `folder`.
    """
    # Python itself passes over whatever is no string here.
    folders = [folder for folder in sys.path if isinstance(folder, str)]
    path = os.pathsep.join(map(os.path.abspath, folders))
    own = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return own | {"PYTHONPATH": path, "TMPDIR": folder}
