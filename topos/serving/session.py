"""Sessions: bundles that answer requests, from any thread and from asyncio."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Any, Self

import numpy.typing as npt

from topos.engine import Numerics
from topos.errors import ArgumentError, BundleError
from topos.serving.admission import converted
from topos.serving.counters import Counters, Observer, observers_of
from topos.serving.description import Description
from topos.serving.errors import DrainingError, RequestError, UnknownModelError
from topos.serving.home import BackgroundLoop, HomeLoop
from topos.serving.model import Model
from topos.serving.origins import Folder, origins_of
from topos.serving.settings import Settings, patience, shown
from topos.serving.status import ModelStatus, Outcome

Array = npt.NDArray[Any]


class Session:
    """Bundles served by a runtime, each request checked, queued, batched and answered by name.

    `with` opens it on a loop in the background, for calls from any thread; `async with` opens it
    on the running loop, where `infer_async` then has no thread to cross. `options` are the
    runtime's compiler options, `cache` the folder of its compiled modules; `compiled` runs the
    machine code that a bundle holds, where it fits, and trusts it as a program. `observers` are
    told of events on the session's loop.
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
        compiled: bool = False,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._origins = origins_of(bundles, runtime, numerics, options, cache, compiled)
        if not isinstance(settings, Settings | None):
            raise ArgumentError(f"settings need a Settings, got {shown(settings)}")
        self._settings = settings or Settings()
        self._observers = observers_of(observers)
        self._models: dict[str, Model] = {}
        self._background: BackgroundLoop | None = None
        self._opening = threading.Lock()
        self._home = HomeLoop()

    def open(self) -> Self:
        """Starts every model's worker, on a loop in the background, and returns this session.

        Raises what a bundle is refused with: `BundleError`, the runtime's own errors. A model
        whose worker crashes at its start is left not ready and tried again.
        """
        with self._opening:
            self._home.require_none()
            background = BackgroundLoop("topos session")
            self._home.settle(background.loop)
            try:
                self._home.waited(self._start())
            except BaseException:
                self._home.waited(self.close_async())
                background.stop()
                raise
            self._background = background
        return self

    async def open_async(self) -> Self:
        """Starts every model's worker on the running loop, as `open` does."""
        self._home.require_none()
        self._home.settle(asyncio.get_running_loop())
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
        `DrainingError`, `NotReadyError` or `WorkerError`. Any thread but the session's may call,
        of the process that opened the session.
        """
        return self._home.waited(self._asked(model, inputs, deadline)).results

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
        if self._home.is_running():
            return self._model(model).infer(inputs, deadline)
        return self._home.reached(self._asked(model, inputs, deadline))

    def models(self) -> tuple[ModelStatus, ...]:
        """Returns the status of every model, in the order of the bundles."""
        return tuple(model.status() for model in self._models.values())

    def model(self, name: str) -> ModelStatus:
        """Returns the status of a model; raises `UnknownModelError`."""
        return self._model(name).status()

    def served(self, name: str) -> Description:
        """Returns what requests to a model have to bring now; raises `NotReadyError`."""
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
        return self._home.waited(self._model(name).reload())

    async def reload_async(self, name: str) -> ModelStatus:
        """Returns what `reload` returns."""
        return await self._home.reached(self._model(name).reload())

    def drain(self, seconds: float) -> bool:
        """Takes no more requests, and returns whether all were answered within `seconds`.

        Raises `ArgumentError` where `seconds` is no number from zero on.
        """
        return self._home.waited(self._drain(patience(seconds)))

    async def drain_async(self, seconds: float) -> bool:
        """Returns what `drain` returns."""
        return await self._home.reached(self._drain(patience(seconds)))

    def close(self) -> None:
        """Ends all workers; what still waits fails with `DrainingError`. Again it does nothing.

        Nor does it in a process that was forked since: the workers are those of the other one.
        """
        # Whoever held the lock when the process was forked does not let go of it in here.
        if self._home.is_elsewhere():
            return
        with self._opening:
            background, self._background = self._background, None
            if background is None:
                return
            self._home.waited(self.close_async())
            background.stop()

    async def close_async(self) -> None:
        """Closes a session that was opened by `open_async`."""
        if self._home.is_elsewhere():
            return
        models, self._models = self._models, {}
        await asyncio.gather(*(model.close() for model in models.values()))
        self._home.leave()

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
            # A session that closes has none left, and one that is open has some.
            if not self._models:
                raise DrainingError("the session is not open") from None
            raise UnknownModelError(name, tuple(self._models)) from None

    def _asked(
        self, name: str, inputs: Mapping[str, npt.ArrayLike], deadline: float | None
    ) -> Coroutine[Any, Any, Outcome]:
        """Returns what asks a model, for the loop to run; `inputs` are read here and now.

        What a caller's class does to become an array may take long, and others wait for the loop.
        """
        model = self._model(name)
        try:
            return model.infer(converted(inputs), deadline)
        except RequestError as error:
            return model.refuse(error)
