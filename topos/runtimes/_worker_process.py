"""The parent's end of one worker process: asked, timed, and ended with what it last said."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any, Final

import numpy as np

from topos.errors import CrashError, UnavailableError
from topos.runtimes._archive import Array
from topos.runtimes._compile_cache import VARIABLE

# A header, and arrays of numpy's own elements.
Message = tuple[dict[str, Any], list[Array]]

WORKER: Final = "topos.runtimes._worker"
STARTUP_SECONDS: Final = 120.0
LAST_LINES: Final = 8
# A frame of a stack that a C++ library prints as it ends its process.
STACK_FRAME: Final = re.compile(r"\s*@ +0x[0-9a-f]+ ")


def send(connection: Connection, header: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
    """Writes a message: its header as JSON, then each array's bytes; a reader executes nothing."""
    described = [[array.dtype.str, array.shape] for array in arrays]
    connection.send_bytes(json.dumps({**header, "arrays": described}).encode())
    for array in arrays:
        connection.send_bytes(array.tobytes())


def receive(connection: Connection) -> Message:
    """Returns the next message; raises `EOFError` or `OSError` where its sender is gone."""
    header = json.loads(connection.recv_bytes())
    described = header.pop("arrays")
    # A bytearray gives an array that its receiver owns and may write to.
    return header, [
        np.frombuffer(bytearray(connection.recv_bytes()), code).reshape(shape)
        for code, shape in described
    ]


class WorkerProcess:
    """A worker of one runtime; `alive` turns false for ever once it died or was ended.

    It starts while its owner goes on, who waits for it in the first request. One caller at a
    time: the owner holds a lock. Whatever interrupts a request, a timeout or an exception such as
    KeyboardInterrupt, ends the process, whose answer would come too late.
    """

    def __init__(self, runtime: str, adapter: str) -> None:
        self._runtime = runtime
        # Open for as long as the process: `_end` closes them.
        self._connection, self._said, self._folder, self._process = _started(runtime, adapter)
        # A process forked from this one holds the same socket and must leave it alone.
        self._owner = os.getpid()
        self._greeted = False
        # Called when this object goes, and when Python exits.
        opened = (self._connection, self._said, self._folder)
        self.end = weakref.finalize(self, _end, self._process, self._owner, *opened)

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
        is_own = os.getpid() == self._owner and self.end.alive
        return is_own and self._process.poll() is None

    def ask(
        self, header: dict[str, Any], arrays: Sequence[Array], seconds: float, doing: str
    ) -> Message:
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
    ) -> Message:
        before = 0 if request is None else os.fstat(self._said.fileno()).st_size
        expired = False
        try:
            if request is not None:
                send(self._connection, *request)
            if self._connection.poll(seconds):
                return receive(self._connection)
            expired = True
            _kill(self._process)
        except (EOFError, OSError):
            pass
        except BaseException:
            self.end()
            raise
        cause = f"was stopped after {seconds:g} seconds" if expired else self._death()
        lines = self._last_lines(before)
        self.end()
        told = "\n".join([f"the {self._runtime} runtime {cause} while it {doing}", *lines])
        raise CrashError(told)

    def _death(self) -> str:
        status = self._process.wait()
        if status < 0:
            return f"died of {signal.Signals(-status).name}"
        return f"ended with status {status}"

    def _last_lines(self, before: int) -> list[str]:
        """Returns what was said last since the file was `before` bytes long."""
        self._said.seek(before)
        text = self._said.read().decode(errors="replace")
        told = (line for line in text.splitlines() if line.strip())
        return [line for line in told if not STACK_FRAME.match(line)][-LAST_LINES:]


def _started(
    runtime: str, adapter: str
) -> tuple[Connection, IO[bytes], str, subprocess.Popen[bytes]]:
    """Returns the parent's end of a socket, a file of what the worker says, its folder, and it."""
    if not sys.executable or sys.platform == "win32":
        got = f"{sys.executable!r} on {sys.platform}"
        raise UnavailableError(f"the {runtime} runtime needs sys.executable on POSIX, got {got}")
    with ExitStack() as opened:
        try:
            ours, theirs = map(opened.enter_context, Pipe())
            said = opened.enter_context(tempfile.TemporaryFile())
            folder = tempfile.mkdtemp(prefix="topos-")
            opened.callback(shutil.rmtree, folder, ignore_errors=True)
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", WORKER, adapter, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=[theirs.fileno()],
                env=_environment(folder),
                # A group of its own, which ends as a whole.
                start_new_session=True,
            )
        # No folder for temporary files, no such program, too few file descriptors or processes.
        except OSError as error:
            raise UnavailableError(
                f"the {runtime} runtime cannot start its worker: {error}"
            ) from error
        opened.pop_all()
        theirs.close()
    return ours, said, folder, process


def _end(
    process: subprocess.Popen[bytes],
    owner: int,
    connection: Connection,
    said: IO[bytes],
    folder: str,
) -> None:
    if os.getpid() != owner:
        return
    _kill(process)
    process.wait()
    connection.close()
    said.close()
    shutil.rmtree(folder, ignore_errors=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the worker and what it started, such as IREE's compiler."""
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
