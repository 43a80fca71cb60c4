"""A server for the tests of the HTTP side, and the plainest client there is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import uvicorn

from topos.serving import Session, Settings
from topos.serving.http import Application, Limits, Observers, Token
from topos.serving.http.server import configuration

__all__ = [
    "GOOD",
    "INFER",
    "LIVE",
    "ROWS",
    "Reply",
    "Server",
    "apart",
    "ask",
    "binary",
    "closed",
    "connected",
    "exchanged",
    "infer",
    "refuses",
    "reply",
    "request",
    "running",
    "until",
]

# Far more than anything takes, for a machine that does much else.
SECONDS = 60.0
INFER = "/v2/models/mlp/infer"
ROWS = np.arange(12, dtype=np.float32).reshape(2, 6) % 5 - 2
Found = TypeVar("Found")


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """The text of a refusal."""
        assert self.headers["content-type"] == "application/json"
        return str(json.loads(self.body)["error"])


class Server(NamedTuple):
    """A server that runs on a thread of this process."""

    port: int
    application: Application
    log: BytesIO
    stop: Any

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextlib.contextmanager
def running(
    bundles: Sequence[Path],
    *,
    runtime: str = "interpreter",
    settings: Settings | None = None,
    limits: Limits | None = None,
    token: str | None = None,
) -> Iterator[Server]:
    """A server on a free port of the loopback, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ready: threading.Event = threading.Event()
        found: list[Server] = []

        async def serve() -> None:
            observers, log = Observers(), BytesIO()
            session = Session(
                bundles, runtime=runtime, settings=settings, observers=tuple(observers)
            )
            application = Application(
                session, observers, paths=bundles, limits=limits, token=Token(token), log=log
            )
            server = uvicorn.Server(configuration(application))
            loop = asyncio.get_running_loop()

            def stop() -> None:
                loop.call_soon_threadsafe(setattr, server, "should_exit", True)

            async with session:
                found.append(Server(listener.getsockname()[1], application, log, stop))
                ready.set()
                await server.serve([listener])
            application.log.flush()

        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        try:
            assert ready.wait(SECONDS)
            yield found[0]
        finally:
            if found:
                found[0].stop()
            thread.join(SECONDS)


def request(
    method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> bytes:
    """The bytes of a request, with a length unless the headers have one."""
    lines = {"host": "test", "content-length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def exchanged(port: int, sent: bytes) -> Reply:
    """What a server answers to these bytes on a connection of their own."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall(sent)
        return reply(connection)


def ask(server: Server, path: str, body: bytes | None = None, **headers: str) -> Reply:
    """What a server answers to a request, by POST where there is a body."""
    method = "GET" if body is None else "POST"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return exchanged(server.port, request(method, path, body or b"", named))


def reply(connection: socket.socket) -> Reply:
    """The next answer on a connection, and nothing of one that came together with it."""
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            raise ConnectionError(f"the server closed the connection after {received!r}")
        received += byte
    first, *lines = received.removesuffix(b"\r\n\r\n").decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    body = b""
    while (left := int(headers["content-length"]) - len(body)) > 0:
        chunk = connection.recv(min(left, 65536))
        assert chunk
        body += chunk
    return Reply(int(first.split(" ")[1]), headers, body)


def infer(rows: npt.NDArray[np.float32], **more: Any) -> bytes:
    """The JSON of a request to the model of `exported_mlp`."""
    tensor = {"name": "x", "shape": rows.shape, "datatype": "FP32", "data": rows.ravel().tolist()}
    return json.dumps({"inputs": [tensor], **more}).encode()


def binary(rows: npt.NDArray[np.float32], **more: Any) -> tuple[bytes, dict[str, str]]:
    """The same request with binary data both ways, and its headers."""
    tensor = {
        "name": "x",
        "shape": rows.shape,
        "datatype": "FP32",
        "parameters": {"binary_data_size": rows.nbytes},
    }
    parameters = {"binary_data_output": True}
    text = json.dumps({"inputs": [tensor], "parameters": parameters, **more}).encode()
    return text + rows.tobytes(), {"Inference-Header-Content-Length": str(len(text))}


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)


def apart(connection: socket.socket, *parts: bytes) -> None:
    """Sends parts so that each arrives by itself: the server reads it before a later request."""
    for part in parts:
        connection.sendall(part)
        exchanged(connection.getpeername()[1], LIVE)


def closed(connection: socket.socket) -> bool:
    """Whether the server has closed the connection, or does so within the client's patience."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def refuses(server: Server) -> bool:
    """Whether nothing listens any more."""
    try:
        connected(server).close()
    except ConnectionRefusedError:
        return True
    return False


def until(holds: Callable[[], Found]) -> Found:
    """What `holds` returns, once that is true."""
    end = time.monotonic() + SECONDS
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.002)
    return found


GOOD, LIVE = infer(ROWS), request("GET", "/v2/health/live")
