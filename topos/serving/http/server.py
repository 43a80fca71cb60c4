"""The server: a session and its application on uvicorn, from the start to the drained end."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import uvicorn

from topos.bundle import Bundle
from topos.errors import BundleError, UnavailableError
from topos.serving.counters import Observer
from topos.serving.http.access_log import Lines
from topos.serving.http.application import Application, Observers
from topos.serving.http.connection import Connection
from topos.serving.http.limits import Limits
from topos.serving.http.running import Running
from topos.serving.http.token import Token
from topos.serving.session import Session
from topos.serving.settings import Settings

_CONNECTIONS_SECONDS = 5
_FLUSH_SECONDS = 2.0
_LINES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What a server serves, where, and within which limits.

    Port 0 is any that is free. `watch` loads a model again when its bundle changes; SIGHUP does so
    for all. `compiled` runs machine code of the bundles where it fits. `announce` takes a line for
    people: what is served where, and what happens to it.
    """

    bundles: Sequence[Path]
    runtime: str = "xla"
    numerics: str = "fast"
    host: str = "127.0.0.1"
    port: int = 8000
    settings: Settings = field(default_factory=lambda: Settings(isolation="process"))
    limits: Limits = field(default_factory=Limits)
    token: str | None = None
    log: BinaryIO | None = None
    watch: bool = False
    cache: Path | None = None
    compiled: bool = False
    announce: Callable[[str], None] = print


def serve(serving: Serving) -> bool:
    """Serves until SIGTERM or SIGINT, and returns whether every request was answered by the end.

    Then the server says that it is not ready, takes no more, and ends once what is under way has
    its answer; SIGINT ends it at once where it is ending already. Runs on the main thread, whose
    signals it takes. Raises `UnavailableError` where the address cannot be had, and what the
    session raises for a bundle that it refuses.
    """
    token = Token(serving.token)
    announcing = Lines(partial(_each, serving.announce), most=_LINES)
    with _listening(serving.host, serving.port) as listener:
        session = _session(serving, observers := Observers(), Telling(announcing.put))
        application = Application(
            session,
            observers,
            paths=serving.bundles,
            limits=serving.limits,
            token=token,
            log=serving.log,
            rows=serving.settings.max_rows,
        )
        config = configuration(application)
        running = Running(session, application, config, listener, serving.bundles, announcing.put)
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            try:
                return runner.run(running.run(serving.watch))
            finally:
                application.log.flush()
                announcing.flush(_FLUSH_SECONDS)


def configuration(application: Application) -> uvicorn.Config:
    """Returns how uvicorn has to run an application, on whatever socket it is given."""
    return uvicorn.Config(
        application,
        # uvicorn calls this as it would a class, and has no other way to hand our limits over.
        http=partial(Connection, application.bodies, application.refused),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=application.limits.keep_alive_seconds,
        timeout_graceful_shutdown=_CONNECTIONS_SECONDS,
    )


def _each(announce: Callable[[str], None], lines: list[str]) -> None:
    for line in lines:
        announce(line)


def _session(serving: Serving, observers: Observers, telling: Telling) -> Session:
    names: list[str] = []
    for path in serving.bundles:
        # What else is wrong with a bundle is for the session to say, which verifies it.
        with suppress(BundleError, OSError):
            names.append(Bundle.glance(path).name)
    for name in names:
        require_servable(name)
    return Session(
        serving.bundles,
        runtime=serving.runtime,
        numerics=serving.numerics,
        settings=serving.settings,
        cache=serving.cache,
        compiled=serving.compiled,
        observers=(*observers, telling),
    )


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    # A name may have what no name of a host has, and its encoding says so by an error of its own.
    except (OSError, OverflowError, ValueError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise UnavailableError(f"cannot listen on {host}, port {port}: {reason}") from error
    return listener


_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")
# Paths of the protocol, and what clients take for folders.
_TAKEN: Final = frozenset({"stats", ".", ".."})


def require_servable(name: str) -> None:
    """Raises `BundleError` for a model whose name cannot stand in a path as it is."""
    if not _NAME.fullmatch(name) or name in _TAKEN:
        shown = repr(name) if len(name) <= 80 else f"{name[:80]!r}..."
        raise BundleError(
            "serving over HTTP needs models named with letters, digits, dots, dashes and "
            f"underscores, 'stats' and dots alone excepted, got {shown}"
        )


class Telling(Observer):
    """An observer of a session that announces each worker that ended."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        """`announce` has to return at once."""
        self._announce = announce

    def worker_restarted(self, model: str, reason: str) -> None:
        """Tells why a worker ended, in one line."""
        self._announce(f"{model} starts its worker again: {' / '.join(reason.splitlines())}")
