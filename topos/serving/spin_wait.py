"""Spin waits: a message taken the moment it comes, where that is likely to be at once.

To sleep until a socket wakes the process up costs tens of microseconds, as much as a small call.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Final

CHUNK: Final = 2**16
# After this long the wakeup that is saved is no longer worth the processor.
LONGEST_SECONDS: Final = 5e-4


def received_soon(connection: socket.socket, seconds: float) -> bytes | None:
    """Returns what comes within so many seconds, empty at the end of the stream, None for nothing.

    It busy-waits, yielding to runnable threads.
    """
    end = time.perf_counter() + seconds
    while True:
        try:
            return connection.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            if time.perf_counter() >= end:
                return None
        # The other side may have to run on this very processor: without this, the median on a busy
        # machine doubles. Not every system has the call.
        if hasattr(os, "sched_yield"):
            os.sched_yield()


class Patience:
    """Whether to spin for the next message: only where the one before came soon enough.

    So a stream of calls is answered without a sleep in between, and an idle one costs nothing.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._gap = 0.0

    def received(self, soon: bool) -> bytes:
        """Returns what comes next, empty at the end of the stream; `soon` lets it spin."""
        began = time.perf_counter()
        data = None
        if soon and self._gap <= LONGEST_SECONDS:
            data = received_soon(self._connection, LONGEST_SECONDS)
        if data is None:
            data = self._connection.recv(CHUNK)
        self._gap = time.perf_counter() - began
        return data
