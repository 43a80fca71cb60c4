"""A server under way: its signals, what they start, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import uvicorn

from topos.serving.http.application import Application
from topos.serving.http.reloading import Reloading
from topos.serving.session import Session

_LOGGER = logging.getLogger("topos.serving")
_POLL_SECONDS = 0.02
_GARBAGE = 20_000


class _Server(uvicorn.Server):
    """uvicorn's server, whose signals are taken by us: its own end the process by the signal."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Running:
    """A session served on a listening socket until a signal ends it."""

    def __init__(
        self,
        session: Session,
        application: Application,
        config: uvicorn.Config,
        listener: socket.socket,
        bundles: Sequence[Path],
        announce: Callable[[str], None],
    ) -> None:
        """`session` is not open yet; `announce` takes a line for people."""
        self._session, self._application, self._listener = session, application, listener
        self._announce = announce
        self._server = _Server(config)
        self._reloading = Reloading(session, bundles, announce)
        self._tasks: set[asyncio.Task[None]] = set()
        self._main: asyncio.Task[Any] | None = None
        self._ending = False
        self._answered = True

    async def run(self, watch: bool) -> bool:
        """Serves until told to end, and returns whether every request was answered.

        `watch` loads a model again when its bundle changes.
        """
        self._main = asyncio.current_task()
        with self._signals():
            try:
                async with self._session:
                    # Whoever reads the line may connect at once, before uvicorn listens.
                    self._listener.listen()
                    self._tell()
                    self._main = None
                    if watch:
                        self._start(self._reloading.watch())
                    with _rare_searches():
                        await self._server.serve([self._listener])
                    await self._stop_tasks()
            except asyncio.CancelledError:
                self._announce("ended before anything was served")
                return False
        return self._answered

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        actions = {
            signal.SIGTERM: self._end,
            signal.SIGINT: self._interrupt,
            signal.SIGHUP: self._again,
        }
        for number, action in actions.items():
            loop.add_signal_handler(number, action)
        try:
            yield
        finally:
            for number in actions:
                loop.remove_signal_handler(number)

    def _tell(self) -> None:
        host, port = self._listener.getsockname()[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        for model in self._session.models():
            state = "serves" if model.ready else f"is not ready ({model.reason})"
            # A model that was never loaded has no version.
            title = " ".join(filter(None, (model.name, model.version, state)))
            self._announce(f"{title} at http://{address}/v2/models/{model.name}")
            for note in model.notes:
                self._announce(f"{model.name}: {note}")

    def _end(self) -> None:
        # A supervisor may signal the process and its group, and means to end it once.
        if self._main is not None:
            self._main.cancel()
        elif not self._ending:
            self._ending = True
            self._start(self._drain())

    def _interrupt(self) -> None:
        if self._ending:
            self._leave_behind()
        else:
            self._end()

    def _again(self) -> None:
        if self._main is None and not self._ending:
            self._start(self._reloading.reload_all())

    async def _drain(self) -> None:
        application, limits = self._application, self._application.limits
        application.draining = True
        await asyncio.sleep(limits.linger_seconds)
        application.inferences.closed = True
        loop = asyncio.get_running_loop()
        end = loop.time() + limits.drain_seconds
        while application.inferences.under_way and loop.time() < end:
            await asyncio.sleep(_POLL_SECONDS)
        self._answered = await self._session.drain_async(max(end - loop.time(), 0.1))
        self._answered &= not application.inferences.under_way
        if not self._answered:
            self._leave_behind()
        self._server.should_exit = True

    def _leave_behind(self) -> None:
        """Ends without another wait for those that have had their time."""
        self._answered = False
        self._server.config.timeout_graceful_shutdown = 0
        self._server.should_exit = True

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _LOGGER.error("the server goes on without what failed", exc_info=task.exception())

    async def _stop_tasks(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _rare_searches() -> Iterator[None]:
    """Spares what a server is made of every further search for garbage, and searches seldom.

    A request makes next to none that has to be searched for, and hundreds of objects: at Python's
    own threshold, the searches take a tenth of its time.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
