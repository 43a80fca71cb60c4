"""Routes: every path but inference, which is answered before any route is tried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import PackageNotFoundError, version

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from topos.errors import ToposError
from topos.serving.errors import RequestError
from topos.serving.http.answer import Answer, json_answer
from topos.serving.http.body import Bodies, Body
from topos.serving.http.documents import (
    configuration,
    index,
    metadata,
    server_metadata,
    statistics,
)
from topos.serving.http.infer import served
from topos.serving.http.metrics import Metrics
from topos.serving.http.placing import UNREADABLE, faulty
from topos.serving.http.refusals import ForbiddenError
from topos.serving.http.token import Token
from topos.serving.session import Session
from topos.serving.status import ModelStatus

__all__ = ["OPEN_PATHS", "Routes"]

OPEN_PATHS = frozenset({"/v2/health/live", "/v2/health/ready"})
"""What needs no token: a probe of the platform has none."""

# What is read on the loop has to be read in no time.
_BODY_BYTES = 4096

_Handler = Callable[[Request], Awaitable[Answer]]


class _Repository(msgspec.Struct):
    """The body of a request to the repository; a client may leave it out."""

    ready: bool | None = None
    parameters: dict[str, object] | None = None


class Routes:
    """The handlers of health, metadata, statistics, metrics and the model repository."""

    def __init__(
        self,
        session: Session,
        bodies: Bodies,
        token: Token,
        metrics: Metrics,
        draining: Callable[[], bool],
        rows: int,
    ) -> None:
        """`rows` is the most that a request may have."""
        self._session, self._bodies, self._token = session, bodies, token
        self._metrics, self._draining, self._rows = metrics, draining, rows
        # Read from a file now, while files can be opened.
        self._about = server_metadata(_version())

    def routes(self) -> list[Route]:
        """Returns the routes, each of whose methods are the protocol's."""
        paths: dict[str, _Handler] = {
            "/v2": self._server,
            "/v2/health/live": self._live,
            "/v2/health/ready": self._ready,
            "/v2/models/stats": self._all_statistics,
            "/metrics": self._metrics_text,
        }
        for model in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
            paths[model] = self._of_model(metadata)
            paths[f"{model}/ready"] = self._model_ready
            paths[f"{model}/config"] = self._of_model(lambda it: configuration(it, self._rows))
            paths[f"{model}/stats"] = self._of_model(lambda it: {"model_stats": [self._stats(it)]})
        changing: dict[str, _Handler] = {
            "/v2/repository/index": self._index,
            "/v2/repository/models/{model}/load": self._load,
            "/v2/repository/models/{model}/unload": self._unload,
        }
        reading = [Route(path, _endpoint(handler)) for path, handler in paths.items()]
        return reading + [
            Route(path, _endpoint(handler), methods=["POST"]) for path, handler in changing.items()
        ]

    async def _server(self, request: Request) -> Answer:
        return json_answer(self._about)

    async def _live(self, request: Request) -> Answer:
        return json_answer({"live": True})

    async def _ready(self, request: Request) -> Answer:
        ready = not self._draining() and all(each.ready for each in self._session.models())
        return json_answer({"ready": ready}, 200 if ready else 503)

    async def _model_ready(self, request: Request) -> Answer:
        model = self._model(request)
        ready = model.ready and not self._draining()
        answer = {"name": model.name, "ready": ready}
        if not ready:
            answer["error"] = f"{model.name} is not ready: {model.reason or 'the server drains'}"
        return json_answer(answer, 200 if ready else 503)

    async def _all_statistics(self, request: Request) -> Answer:
        return json_answer({"model_stats": [self._stats(each) for each in self._session.models()]})

    async def _metrics_text(self, request: Request) -> Answer:
        kind = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
        return Answer(200, self._metrics.text(), [kind])

    async def _index(self, request: Request) -> Answer:
        asked = await self._repository(request)
        return json_answer(index(self._session.models(), bool(asked.ready)))

    async def _load(self, request: Request) -> Answer:
        self._token.require()
        model = self._model(request)
        asked = await self._repository(request)
        parameters = [name for name, each in (asked.parameters or {}).items() if each is not None]
        if parameters:
            # A path or a configuration from a client would let it choose what is run.
            name = parameters[0][:80]
            reason = "a model is loaded as the server was started with it"
            raise RequestError(f"parameters.{name}", reason)
        try:
            loaded = await self._session.reload_async(model.name)
        except (ToposError, TimeoutError) as error:
            raise RequestError("load", f"{model.name} serves on as it was: {error}") from error
        return json_answer({"name": loaded.name, "version": loaded.version})

    async def _unload(self, request: Request) -> Answer:
        raise ForbiddenError("unload: the models are those that the server was started with")

    def _of_model(self, document: Callable[[ModelStatus], object]) -> _Handler:
        async def handler(request: Request) -> Answer:
            return json_answer(document(self._model(request)))

        return handler

    def _model(self, request: Request) -> ModelStatus:
        found = request.path_params
        model = served(self._session, found["model"], found.get("version", ""))
        request.scope["topos.exchange"].model = model.name
        return model

    def _stats(self, model: ModelStatus) -> dict[str, object]:
        counters = self._session.counters(model.name)
        return statistics(model, counters, self._metrics.last_call.get(model.name, 0.0))

    async def _repository(self, request: Request) -> _Repository:
        with Body(self._bodies, request.scope["topos.exchange"].headers, _BODY_BYTES) as body:
            text = await body.read(request.receive)
        try:
            return msgspec.json.decode(text or b"{}", type=_Repository)
        except UNREADABLE as error:
            raise faulty(error, "body") from error


def _endpoint(handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        answer = await handler(request)
        response = Response(answer.body, answer.status)
        response.raw_headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
        return response

    return endpoint


def _version() -> str:
    try:
        return version("topos-compiler")
    except PackageNotFoundError:
        # The package may be imported from a folder that was never installed.
        return "unknown"
