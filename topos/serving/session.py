"""Sessions: bundles that answer requests, from any thread and from asyncio."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy.typing as npt

from topos.engine import Numerics
from topos.errors import ArgumentError, BundleError
from topos.serving.background import BackgroundLoop
from topos.serving.counters import Counters, Observer
from topos.serving.errors import DrainingError, UnknownModelError
from topos.serving.messages import Origin, encode
from topos.serving.model import Model
from topos.serving.outcome import Outcome
from topos.serving.settings import Settings
from topos.serving.status import ModelStatus

__all__ = ["Session"]

Array = npt.NDArray[Any]
Result = TypeVar("Result")
Folder = str | os.PathLike[str]


class Session:
    """Bundles served by a runtime, each request checked, queued, batched and answered by name.

    `with` opens it on a loop in the background, for calls from any thread; `async with` opens it
    on the running loop, where `infer_async` then has no thread to cross. `options` are the
    runtime's compiler options, `cache` the folder of its compiled modules; `observers` are told
    of events on the session's loop.
    """

    def __init__(
        self,
        bundles: Folder | Sequence[Folder],
        *,
        runtime: str = "xla",
        numerics: Numerics | str = Numerics.FAST,
        settings: Settings | None = None,
        options: Mapping[str, Any] | None = None,
        cache: Folder | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        paths = [bundles] if isinstance(bundles, str | os.PathLike) else list(bundles)
        if not paths:
            raise ArgumentError("a session needs one bundle or more, got none")
        self._origins = [
            Origin(
                os.path.abspath(path),
                runtime,
                Numerics.of(numerics).value,
                dict(options or {}),
                None if cache is None else os.path.abspath(cache),
            )
            for path in paths
        ]
        _require_plain(self._origins[0])
        self._settings = settings or Settings()
        self._observers = tuple(observers)
        self._models: dict[str, Model] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._background: BackgroundLoop | None = None
        self._opening = threading.Lock()

    def open(self) -> Self:
        """Starts every model's worker, on a loop in the background, and returns this session.

        Raises what a bundle is refused with: `BundleError`, the runtime's own errors. A model
        whose worker crashes at its start is left not ready and tried again.
        """
        with self._opening:
            self._require_closed()
            background = BackgroundLoop("topos session")
            self._loop = background.loop
            try:
                self._wait(self._start())
            except BaseException:
                self._wait(self.close_async())
                background.stop()
                raise
            self._background = background
        return self

    async def open_async(self) -> Self:
        """Starts every model's worker on the running loop, as `open` does."""
        self._require_closed()
        self._loop = asyncio.get_running_loop()
        try:
            await self._start()
        except BaseException:
            await self.close_async()
            raise
        return self

    def infer(
        self, model: str, inputs: Mapping[str, npt.ArrayLike], *, deadline: float | None = None
    ) -> dict[str, Array]:
        """Returns the results of `model` for `inputs`, both by name, as arrays of the caller's own.

        An input of a batched model has rows in front, any number that the settings admit, and so
        have its results; arrays must not change until then. `deadline` is in seconds from now.
        Raises `RequestError`, `TooLargeError`, `UnknownModelError`, `BusyError`, `DeadlineError`,
        `DrainingError`, `NotReadyError` or `WorkerError`. Any thread but the session's may call.
        """
        return self._wait(self._model(model).infer(inputs, deadline)).results

    async def infer_async(
        self, model: str, inputs: Mapping[str, npt.ArrayLike], *, deadline: float | None = None
    ) -> dict[str, Array]:
        """Returns what `infer` returns; a caller that is cancelled leaves the queue."""
        return (await self.outcome_async(model, inputs, deadline=deadline)).results

    def outcome_async(
        self, model: str, inputs: Mapping[str, npt.ArrayLike], *, deadline: float | None = None
    ) -> Awaitable[Outcome]:
        """Returns, once awaited, what `infer` returns with the version that computed it.

        A reload, or a worker that starts again on a bundle that was replaced, may come in between
        a look at `model` and the answer.
        """
        return self._here(self._model(model).infer(inputs, deadline))

    def models(self) -> tuple[ModelStatus, ...]:
        """Returns the status of every model, in the order of the bundles."""
        return tuple(model.status() for model in self._models.values())

    def model(self, name: str) -> ModelStatus:
        """Returns the status of a model; raises `UnknownModelError`."""
        return self._model(name).status()

    def served(self, name: str) -> ModelStatus:
        """Returns what `model` returns but that `waiting` is zero, for callers in a hurry."""
        return self._model(name).served()

    def refused(self, name: str, outcome: str) -> None:
        """Counts a request that never came here, refused by whoever reads requests for it.

        Only on the session's loop. `outcome` is as `Counters.outcomes` names it.
        """
        self._model(name).refused(outcome)

    def counters(self, name: str) -> Counters:
        """Returns the running totals of a model, which go on counting."""
        return self._model(name).counters

    def reload(self, name: str) -> ModelStatus:
        """Serves the bundle that now stands at the model's path, once a new worker verified it.

        No request is dropped. Raises what the new bundle is refused with; the model's `reason`
        tells it too, while the old version goes on serving.
        """
        return self._wait(self._model(name).reload())

    async def reload_async(self, name: str) -> ModelStatus:
        """Returns what `reload` returns."""
        return await self._here(self._model(name).reload())

    def drain(self, seconds: float) -> bool:
        """Takes no more requests, and returns whether all were answered within `seconds`."""
        return self._wait(self._drain(seconds))

    async def drain_async(self, seconds: float) -> bool:
        """Returns what `drain` returns."""
        return await self._here(self._drain(seconds))

    def close(self) -> None:
        """Ends all workers; what still waits fails with `DrainingError`. Again it does nothing."""
        with self._opening:
            background, self._background = self._background, None
            if background is None:
                return
            self._wait(self.close_async())
            background.stop()

    async def close_async(self) -> None:
        """Closes a session that was opened by `open_async`."""
        models, self._models = self._models, {}
        await asyncio.gather(*(model.close() for model in models.values()))
        self._loop = None

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await self.open_async()

    async def __aexit__(self, *_: object) -> None:
        await self.close_async()

    async def _start(self) -> None:
        for origin in self._origins:
            model = Model(origin, self._settings, self._observers)
            if model.name in self._models:
                raise BundleError(f"a session needs names of their own, got {model.name} twice")
            self._models[model.name] = model
        opening = [model.open() for model in self._models.values()]
        for outcome in await asyncio.gather(*opening, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _drain(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(model.drain() for model in self._models.values()))
        except TimeoutError:
            return False
        return True

    def _model(self, name: str) -> Model:
        try:
            return self._models[name]
        except (KeyError, TypeError):
            if self._loop is None:
                raise DrainingError("the session is not open") from None
            raise UnknownModelError(name, tuple(self._models)) from None

    def _here(self, coroutine: Coroutine[Any, Any, Result]) -> Awaitable[Result]:
        """Returns what awaits `coroutine`, run on the session's loop, wherever the caller is."""
        loop = self._loop
        if loop is None or loop is asyncio.get_running_loop():
            return coroutine
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))

    def _wait(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Returns what `coroutine` returns, run on the session's loop by a thread that waits."""
        loop = self._loop
        if loop is None or _running() is loop:
            coroutine.close()
            if loop is None:
                raise DrainingError("the session is not open")
            raise ArgumentError("a session's own loop cannot wait for it: await infer_async")
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result()
        except BaseException:
            # An interrupt of the thread that waits leaves nothing running for it.
            future.cancel()
            raise

    def _require_closed(self) -> None:
        if self._loop is not None:
            raise ArgumentError("a session opens once, and this one is open")


def _require_plain(origin: Origin) -> None:
    try:
        encode(origin)
    except (TypeError, OverflowError) as error:
        raise ArgumentError(f"options need numbers and texts, got {origin.options}") from error


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
