"""The session's end of a worker process: started, asked, and killed with what it last said."""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from typing import IO, Any, Final

import topos.errors
from topos.errors import CrashError, ToposError, UnavailableError
from topos.serving.description import Arena
from topos.serving.messages import (
    Answer,
    Call,
    Failed,
    FrameError,
    Frames,
    Origin,
    Ready,
    Refused,
    encode,
    from_worker,
)
from topos.serving.settings import Settings
from topos.serving.spin_wait import CHUNK, received_soon
from topos.serving.worker import Pace, Worker

MODULE: Final = "topos.serving.worker_main"
LAST_LINES: Final = 8
LAST_BYTES: Final = 8192
# How long the loop spins for an answer: it costs a third of this to go back to its other work
# and be woken again. A call that is expected to take longer is not waited for.
SPIN_SECONDS: Final = 2e-4
# A process whose end of the socket closed is nearly always gone by the time it is looked at, and on
# a busy machine soon after.
ENDING_SECONDS: Final = 1.5


class ProcessWorker(Worker):
    """A model in a process of its own, which may crash, hang or answer nonsense.

    Whatever it does, the session sees its end as a reason, and its arena goes with it: nothing
    that a killed worker wrote is ever read.
    """

    def __init__(self, child: Child, ready: Ready) -> None:
        size = Arena.size(ready.description)
        os.ftruncate(child.memory.fileno(), size)
        arena = Arena(ready.description, mmap.mmap(child.memory.fileno(), size))
        super().__init__(ready.description, arena)
        self._child = child
        self._loop = asyncio.get_running_loop()
        self._frames = Frames()
        # What a busy machine adds now and then tells nothing of the model.
        self._pace = Pace(len(ready.description.programs), most=2 * SPIN_SECONDS)
        self._program = 0
        self._is_lost = False
        self._gone: asyncio.Future[None] | None = None
        self._loop.add_reader(child.socket.fileno(), self._readable)

    @classmethod
    async def start(cls, origin: Origin, settings: Settings) -> ProcessWorker:
        """Returns a worker once its process has loaded, verified and compiled the bundle.

        Raises the error of topos with which the process refuses, and `CrashError` where it ends,
        talks nonsense, or takes longer than the settings say.
        """
        child = await _child(settings.call_seconds)
        try:
            return cls(child, await child.greeting(origin, settings.start_seconds))
        except BaseException:
            await asyncio.to_thread(child.end)
            raise

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.process.pid

    def submit(self, number: int, program: int, alone: bool = False) -> None:
        """Sends the call; a process that is gone is found gone by its answer's absence."""
        self._program = program
        # A frame this short always has room, for only one is under way.
        with suppress(OSError):
            self._child.socket.send(encode(Call(number, program, alone)))
        if alone and self._pace.seconds(program) < SPIN_SECONDS:
            self._spin()

    def stop(self, reason: str) -> None:
        """Kills the process."""
        if self.ended.done():
            return
        self._loop.remove_reader(self._child.socket.fileno())
        self._child.process.kill()
        self._end(reason)
        # Waiting for a killed process may take a moment, in which the loop has better to do.
        self._gone = self._loop.run_in_executor(None, self._child.end)

    async def finish(self) -> None:
        """Returns once the process is gone and its files are closed."""
        await super().finish()
        if self._gone is not None:
            await self._gone

    def _readable(self) -> None:
        try:
            data = self._child.socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._take(data)

    def _spin(self) -> None:
        """Waits for the answer right here, while it is likely to come at any moment."""
        try:
            data = received_soon(self._child.socket, SPIN_SECONDS)
        except OSError:
            data = b""
        if data is not None:
            self._take(data)

    def _take(self, data: bytes) -> None:
        if not data:
            self._lose()
            return
        try:
            for body in self._frames.feed(data):
                self._deliver(from_worker(body))
        except FrameError as error:
            self.stop(f"the worker was stopped: {error}")

    def _lose(self) -> None:
        """Ends this worker once it is known how its process ended."""
        # The end of the stream is read again by whoever submits a call meanwhile.
        if self._is_lost or self.ended.done():
            return
        self._is_lost = True
        self._loop.remove_reader(self._child.socket.fileno())
        try:
            words = self._loop.run_in_executor(None, self._child.last_words)
        # There is no room for another thread, nor time for its last words.
        except RuntimeError:
            self.stop("the worker closed its socket and was stopped")
        else:
            words.add_done_callback(lambda said: self.stop(said.result()))

    def _deliver(self, message: Any) -> None:
        if not isinstance(message, Answer | Failed):
            raise FrameError(f"an answer was due, and {type(message).__name__} came")
        if isinstance(message, Answer):
            self._pace.learn(self._program, message.seconds)
        self.answered(message)


class Child:
    """A process and what is shared with it: a socket, the arena's file, its standard error."""

    def __init__(self, call_seconds: float) -> None:
        if not sys.executable or sys.platform == "win32":
            got = f"{sys.executable!r} on {sys.platform}"
            raise UnavailableError(f"a worker process needs an executable on POSIX, got {got}")
        with ExitStack() as opened:
            try:
                self.socket, theirs = map(opened.enter_context, socket.socketpair())
                self.socket.setblocking(False)
                self.memory = opened.enter_context(_memory())
                self.said = opened.enter_context(tempfile.TemporaryFile())
                self.process = _started(theirs, self.memory, self.said, call_seconds)
            # Too few file descriptors or processes.
            except OSError as error:
                raise UnavailableError(f"a worker process cannot start: {error}") from error
            opened.pop_all()
            theirs.close()
        # Whoever closes the files waits for whoever reads them.
        self._ending = threading.Lock()

    async def greeting(self, origin: Origin, seconds: float) -> Ready:
        """Returns what the process says first; raises as `ProcessWorker.start` does."""
        loop, frames, bodies = asyncio.get_running_loop(), Frames(), list[bytes]()
        try:
            async with asyncio.timeout(seconds):
                await loop.sock_sendall(self.socket, encode(origin))
                while not bodies:
                    data = await loop.sock_recv(self.socket, CHUNK)
                    if not data:
                        raise CrashError(await asyncio.to_thread(self.last_words))
                    bodies = frames.feed(data)
            message = from_worker(bodies[0])
        except TimeoutError:
            raise CrashError(f"the worker was not ready within {seconds:g} seconds") from None
        except OSError:
            raise CrashError(await asyncio.to_thread(self.last_words)) from None
        except FrameError as error:
            raise CrashError(f"the worker was stopped: {error}") from None
        if isinstance(message, Refused):
            raise _refusal(message)
        if not isinstance(message, Ready):
            raise CrashError(f"the worker was stopped: it answered before it was asked, {message}")
        return message

    def last_words(self) -> str:
        """Returns how the process ended, and the last lines it printed; may take a moment."""
        with self._ending:
            if self.said.closed:
                return "the worker was stopped"
            try:
                status = self.process.wait(ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                cause = "closed its socket and was stopped"
            else:
                died = f"died of {_signal(-status)}" if status < 0 else ""
                cause = died or f"ended with status {status}"
            return "\n".join([f"the worker {cause}", *self._last_lines()])

    def end(self) -> None:
        """Kills the process and waits for its end."""
        self.process.kill()
        with self._ending:
            self.process.wait()
            for each in (self.socket, self.memory, self.said):
                each.close()

    def _last_lines(self) -> list[str]:
        end = self.said.seek(0, os.SEEK_END)
        self.said.seek(max(0, end - LAST_BYTES))
        text = self.said.read().decode(errors="replace")
        return [line for line in text.splitlines() if line.strip()][-LAST_LINES:]


async def _child(call_seconds: float) -> Child:
    making = asyncio.ensure_future(asyncio.to_thread(Child, call_seconds))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        # The thread starts its process all the same.
        (await making).end()
        raise


def _memory() -> IO[bytes]:
    """Returns a file without a name; in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("topos"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _started(
    theirs: socket.socket, memory: IO[bytes], said: IO[bytes], call_seconds: float
) -> subprocess.Popen[bytes]:
    shared = (theirs.fileno(), memory.fileno())
    return subprocess.Popen(
        [sys.executable, "-P", "-m", MODULE, *map(str, shared), str(call_seconds)],
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        pass_fds=shared,
        env={**os.environ, "PYTHONPATH": _import_path()},
    )


def _import_path() -> str:
    """Returns this process's import path, so that the worker finds the same topos."""
    # Python itself passes over whatever is no string here.
    folders = [folder for folder in sys.path if isinstance(folder, str)]
    return os.pathsep.join(map(os.path.abspath, folders))


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _refusal(message: Refused) -> ToposError:
    """Returns the error as the process raised it, or of the nearest class made from a text."""
    kind = getattr(topos.errors, message.kind, None)
    if isinstance(kind, type) and issubclass(kind, ToposError):
        return kind(message.reason)
    return ToposError(message.reason)
