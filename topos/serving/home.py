"""Home loops: where a session lives, in a thread of its own or not, and how callers reach it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from topos.errors import ArgumentError
from topos.serving.errors import DrainingError

Result = TypeVar("Result")


class HomeLoop:
    """A loop that its owner settles on once, and leaves at the end; before and after it has none.

    What is sent to it runs before it is left.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0
        # A signal's handler may come in between and send something itself.
        self._sending = threading.RLock()

    def settle(self, loop: asyncio.AbstractEventLoop) -> None:
        """Makes `loop` the home."""
        self._loop, self._process = loop, os.getpid()

    def leave(self) -> None:
        """Has no home any more."""
        with self._sending:
            self._loop = None

    def require_none(self) -> None:
        """Raises `ArgumentError` where there is a home already."""
        if self._loop is not None:
            raise ArgumentError("a session opens once, and this one is open")

    def is_elsewhere(self) -> bool:
        """Returns whether the home is in the process that this one was forked from."""
        return self._loop is not None and self._process != os.getpid()

    def is_running(self) -> bool:
        """Returns whether the caller runs on the home."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def reached(self, coroutine: Coroutine[Any, Any, Result]) -> Awaitable[Result]:
        """Returns what awaits `coroutine`, run at home, on whatever loop the caller is."""
        if self._loop is asyncio.get_running_loop():
            return coroutine
        return asyncio.wrap_future(self._sent(coroutine))

    def waited(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Returns what `coroutine` returns, run at home while the caller's thread waits."""
        if self.is_running():
            coroutine.close()
            raise ArgumentError("a session's own loop cannot wait for it: await infer_async")
        future = self._sent(coroutine)
        try:
            return future.result()
        except CancelledError:
            raise DrainingError("the session was closed before the request was served") from None
        except BaseException:
            # An interrupt of the thread that waits leaves nothing running for it.
            future.cancel()
            raise

    def _sent(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Returns the future of `coroutine` at home, where another thread runs it."""
        reason = "the session is not open"
        if self.is_elsewhere():
            reason = "a session lives in the process that opened it, not in one forked from that"
        else:
            with self._sending, suppress(RuntimeError):
                if self._loop is not None:
                    return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        # The loop may also be the caller's own, who stopped it.
        coroutine.close()
        raise DrainingError(reason)


class BackgroundLoop:
    """A loop that runs until it is stopped."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the loop and its thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(_finished())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()


async def _finished() -> None:
    """Cancels all other tasks, so that no thread waits for one for ever."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
