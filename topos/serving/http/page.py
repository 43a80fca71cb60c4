"""The status page at `/`: one document that needs nothing else, and the JSON that it asks for."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

from topos.serving.errors import RequestError
from topos.serving.http.answer import Answer, json_answer
from topos.serving.http.documents import package_version, port_metadata
from topos.serving.http.examples import Examples
from topos.serving.http.exchange import GET, Exchange, Route
from topos.serving.http.timeline import Timeline
from topos.serving.session import Session
from topos.serving.status import ModelStatus

OPEN_PATHS: Final = frozenset({"/"})
"""What needs no token: the document is the same for everyone and names no model."""

_HTML: Final = (b"content-type", b"text/html; charset=utf-8")
SCRIPTS: Final = ("elements.js", "plot.js", "drawing.js", "answer.js", "form.js", "page.js")


class Page(NamedTuple):
    """The document and the headers that it is sent with."""

    content: bytes
    headers: Mapping[str, str]


@cache
def page() -> Page:
    """Returns the status page: its style and its script are inside, allowed by their digests.

    Nothing of the server's is in the text. The policy (Content Security Policy Level 3) lets it
    load nothing, send to its own server only, and take no text for markup.
    """
    script = "\n".join(_asset(name) for name in SCRIPTS)
    style = _asset("style.css")
    content = Template(_asset("page.html")).substitute(STYLE=style, SCRIPT=script).encode()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:16]}"',
    }
    return Page(content, headers)


def page_routes(session: Session, timeline: Timeline, examples: Examples) -> list[Route]:
    """Returns the routes `/`, `/status.json` and `/example.json?model=NAME&number=N`.

    `timeline` has to observe `session`. The first route needs no token (`OPEN_PATHS`): the page
    asks its reader for one where `/status.json` answers 401. Refusals are raised as
    `ServingError`, as everywhere on the HTTP side.
    """
    start = time.monotonic()

    async def document(exchange: Exchange) -> Answer:
        found = page()
        headers = [(name.lower().encode(), text.encode()) for name, text in found.headers.items()]
        if exchange.headers.get(b"if-none-match") == found.headers["ETag"].encode():
            return Answer(304, b"", headers)
        return Answer(200, found.content, [_HTML, *headers])

    async def status(exchange: Exchange) -> Answer:
        models = session.models()
        weights = await asyncio.to_thread(lambda: [examples.weights(each) for each in models])
        recent = await asyncio.to_thread(timeline.record)
        content = {
            "version": package_version(),
            "uptime": round(time.monotonic() - start, 1),
            "models": [
                {**_model(each), "weights": size, "counters": asdict(session.counters(each.name))}
                for each, size in zip(models, weights, strict=True)
            ],
            "timeline": recent,
        }
        return _json(content)

    async def example(exchange: Exchange) -> Answer:
        asked = {name: texts[-1] for name, texts in parse_qs(exchange.query.decode()).items()}
        model = session.model(asked.get("model", ""))
        number = _number(asked.get("number", "0"))
        return _json(await asyncio.to_thread(examples.example, model, number))

    return [
        Route("/", GET, document),
        Route("/status.json", GET, status),
        Route("/example.json", GET, example),
    ]


def _model(status: ModelStatus) -> dict[str, Any]:
    return {
        "name": status.name,
        "version": status.version,
        "ready": status.ready,
        "reason": status.reason,
        "batched": status.batched,
        "rows": status.rows,
        "runtime": status.runtime,
        "waiting": status.waiting,
        "inputs": [port_metadata(each, status.batched) for each in status.inputs],
        "results": [port_metadata(each, status.batched) for each in status.results],
    }


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RequestError("number", f"needs a whole number from 0 on, got {text[:80]!r}")
    return int(text)


def _json(content: Mapping[str, Any]) -> Answer:
    answer = json_answer(content)
    answer.headers += [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
    return answer


def _asset(name: str) -> str:
    return (files("topos.serving.http") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
