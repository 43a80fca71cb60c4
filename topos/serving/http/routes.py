"""Routes: health, metadata, statistics, metrics and the repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

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
from topos.serving.http.exchange import GET, POST, Exchange, Handler, Route
from topos.serving.http.infer import require_version
from topos.serving.http.metrics import Metrics
from topos.serving.http.refusals import UNREADABLE, ForbiddenError, faulty
from topos.serving.http.token import Token
from topos.serving.session import Session
from topos.serving.status import ModelStatus

OPEN_PATHS = frozenset({"/v2/health/live", "/v2/health/ready"})
"""What needs no token: a probe of the platform has none."""

# What is read on the loop has to be read in no time.
_BODY_BYTES = 4096


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
        totals: Callable[[], Mapping[str, tuple[str, float]]],
        draining: Callable[[], bool],
        rows: int,
    ) -> None:
        """`rows` is the most that a request may have."""
        self._session, self._bodies, self._token = session, bodies, token
        self._metrics, self._totals = metrics, totals
        self._draining, self._rows = draining, rows

    def routes(self) -> list[Route]:
        """Returns the routes, each of whose methods are the protocol's."""
        # Read from a file now, while files can be opened.
        about = server_metadata()
        paths: dict[str, Handler] = {
            "/v2": _told(lambda: about),
            "/v2/health/live": _told(lambda: {"live": True}),
            "/v2/health/ready": self._ready,
            "/v2/models/stats": _told(self._all_statistics),
            "/metrics": self._metrics_text,
        }
        for model in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
            paths[model] = self._of_model(metadata)
            paths[f"{model}/ready"] = self._model_ready
            paths[f"{model}/config"] = self._of_model(lambda it: configuration(it, self._rows))
            paths[f"{model}/stats"] = self._of_model(lambda it: {"model_stats": [self._stats(it)]})
        changing: dict[str, Handler] = {
            "/v2/repository/index": self._index,
            "/v2/repository/models/{model}/load": self._load,
            "/v2/repository/models/{model}/unload": self._unload,
        }
        return [
            *(Route(path, GET, handler) for path, handler in paths.items()),
            *(Route(path, POST, handler) for path, handler in changing.items()),
        ]

    async def _ready(self, exchange: Exchange) -> Answer:
        ready = not self._draining() and all(each.ready for each in self._session.models())
        return json_answer({"ready": ready}, 200 if ready else 503)

    async def _model_ready(self, exchange: Exchange) -> Answer:
        model = self._model(exchange)
        ready = model.ready and not self._draining()
        answer = {"name": model.name, "ready": ready}
        if not ready:
            answer["error"] = f"{model.name} is not ready: {model.reason or 'the server drains'}"
        return json_answer(answer, 200 if ready else 503)

    def _all_statistics(self) -> dict[str, object]:
        return {"model_stats": [self._stats(each) for each in self._session.models()]}

    async def _metrics_text(self, exchange: Exchange) -> Answer:
        kind = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
        session = self._session
        models = [(each, session.counters(each.name)) for each in session.models()]
        return Answer(200, self._metrics.text(models, self._totals()), [kind])

    async def _index(self, exchange: Exchange) -> Answer:
        asked = await self._repository(exchange)
        return json_answer(index(self._session.models(), bool(asked.ready)))

    async def _load(self, exchange: Exchange) -> Answer:
        self._token.require()
        model = self._model(exchange)
        asked = await self._repository(exchange)
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

    async def _unload(self, exchange: Exchange) -> Answer:
        raise ForbiddenError("unload: the models are those that the server was started with")

    def _of_model(self, document: Callable[[ModelStatus], object]) -> Handler:
        async def handler(exchange: Exchange) -> Answer:
            return json_answer(document(self._model(exchange)))

        return handler

    def _model(self, exchange: Exchange) -> ModelStatus:
        found = exchange.names
        model = self._session.model(found["model"])
        require_version(model.name, found.get("version", ""), model.version)
        exchange.model = model.name
        return model

    def _stats(self, model: ModelStatus) -> dict[str, object]:
        counters = self._session.counters(model.name)
        return statistics(model, counters, self._metrics.last_call.get(model.name, 0.0))

    async def _repository(self, exchange: Exchange) -> _Repository:
        with Body(self._bodies, exchange.headers, _BODY_BYTES) as body:
            text = await body.read(exchange.receive, exchange.whole)
        try:
            return msgspec.json.decode(text or b"{}", type=_Repository)
        except UNREADABLE as error:
            raise faulty(error, "body") from error


def _told(document: Callable[[], object]) -> Handler:
    async def handler(_: Exchange) -> Answer:
        return json_answer(document())

    return handler
