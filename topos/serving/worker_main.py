"""The process that runs one model, so that only this process dies of it.

It reads the origin of its model, says whether it serves it, and then answers each call with a
message, the arrays standing in the arena, until the session's end of the socket closes.
"""

from __future__ import annotations

import gc
import mmap
import signal
import socket
import sys
from collections import deque
from typing import Final

import msgspec

from topos.serving.description import Arena
from topos.serving.loaded import LoadedModel, refusal
from topos.serving.messages import (
    Frames,
    Origin,
    Ready,
    Refused,
    calls,
    encode,
)
from topos.serving.spin_wait import Patience

# How long after the session's own limit the system ends a process whose session is gone.
GRACE_SECONDS: Final = 5.0
LONGEST_REASON: Final = 2**16


def main(descriptor: int, memory: int, seconds: float) -> None:
    """Serves the model whose origin arrives at the socket with that file descriptor."""
    # Ctrl-C, a service's stop and a shell's reload reach every process, and the session decides
    # what they mean: requests are still to be answered, and its end is that of this process.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as connection:
        incoming = Incoming(connection)
        try:
            model = LoadedModel.load(msgspec.msgpack.decode(incoming.body() or b"", type=Origin))
        # To die of it would pass for a crash, which is tried again for as long as the session is.
        except Exception as error:
            connection.sendall(encode(_refused(error)))
            return
        # What loading made stays for good, and no search for garbage need go through it again.
        gc.collect()
        gc.freeze()
        connection.sendall(encode(Ready(model.description)))
        _serve(model, connection, incoming, memory, seconds + GRACE_SECONDS)


def _refused(error: Exception) -> Refused:
    told = refusal(error)
    # A message may be of any length, and hold names of files that are no text.
    reason = str(told)[:LONGEST_REASON].encode(errors="backslashreplace").decode()
    return Refused(type(told).__name__, reason)


def _serve(
    model: LoadedModel,
    connection: socket.socket,
    incoming: Incoming,
    memory: int,
    seconds: float,
) -> None:
    arena: Arena | None = None
    alone = False
    while (body := incoming.body(soon=alone)) is not None:
        call = calls.decode(body)
        alone = call.alone
        # The session has given the memory its size before it asks for anything.
        if arena is None:
            arena = Arena(model.description, mmap.mmap(memory, Arena.size(model.description)))
        _arm(seconds)
        answer = model.answer(call, arena)
        _arm(0.0)
        connection.sendall(encode(answer))


class Incoming:
    """The frames that the session sends, one after the other."""

    def __init__(self, connection: socket.socket) -> None:
        self._patience, self._frames = Patience(connection), Frames()
        self._bodies: deque[bytes] = deque()

    def body(self, soon: bool = False) -> bytes | None:
        """Returns the next frame's body, or None once there are no more.

        `soon` says that it is likely to come at once.
        """
        while not self._bodies:
            data = self._patience.received(soon)
            if not data:
                return None
            self._bodies.extend(self._frames.feed(data))
        return self._bodies.popleft()


def _arm(seconds: float) -> None:
    # A runtime that hangs may hold the interpreter lock, so only the system can end it; a
    # platform without timers relies on the session alone.
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
