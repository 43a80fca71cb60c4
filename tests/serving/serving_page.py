"""A server in this process for the tests of its page, and the bundles that it serves."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import uvicorn

from topos import Plan, Tape
from topos.bundle import Bundle, export
from topos.serving import Session, Settings
from topos.serving.http.application import Application, Observers
from topos.serving.http.token import Token

__all__ = ["HEIGHT", "MARKUP", "WIDTH", "exported_images", "exported_markup", "served", "truth"]

Array = npt.NDArray[Any]

HEIGHT, WIDTH, CLASSES = 5, 4, 3
MARKUP = "<img src=x onerror=alert(1)>"


def exported_images(path: Path, scale: int = 1) -> Bundle:
    """Three scores of images of 5 by 4: `scale` times `truth`; weights are small integers."""
    images = np.arange(6 * HEIGHT * WIDTH, dtype=np.float32) % 17
    samples = [{"images": images.reshape(6, 1, HEIGHT, WIDTH)}]
    plans = [_images(rows, scale) for rows in (1, 4)]
    return export(path, plans, samples=samples, batched=True, name="images")


def exported_markup(path: Path) -> Bundle:
    """A sum of two inputs, one of which is called what a page must not take for markup."""
    tape = Tape()
    x = tape.input(np.zeros(3, np.float32), name=MARKUP)
    y = tape.input(np.zeros(3, np.int64), name="counts")
    total = (x + x).named("double"), (y + y).named("double counts")
    plan = tape.into_network().entry([each.symbol for each in total]).lower()
    # JavaScript has no number for the largest: what is sent unchanged is sent whole.
    counts = np.array([1, 2, 2**53 + 1], np.int64)
    return export(path, plan, samples=[{"counts": counts}], name="markup")


def truth(images: Array) -> Array:
    """What the model of `exported_images` answers, bit for bit."""
    scores: Array = images.reshape(-1, HEIGHT * WIDTH) @ _weights()
    return scores


def _images(rows: int, scale: int) -> Plan:
    tape = Tape()
    images = tape.input(np.zeros((rows, 1, HEIGHT, WIDTH), np.float32), name="images")
    w = tape.parameter(_weights() * np.float32(scale), name="w")
    scores = (images.reshape([rows, HEIGHT * WIDTH]) @ w).named("scores")
    return tape.into_network().entry([scores.symbol]).lower()


def _weights() -> Array:
    numbers = np.arange(HEIGHT * WIDTH * CLASSES, dtype=np.float32) % 7 - 3
    return numbers.reshape(HEIGHT * WIDTH, CLASSES)


@contextmanager
def served(paths: Sequence[Path], token: str | None = None) -> Iterator[str]:
    """Yields the address of a server of the bundles at `paths`, run by the interpreter."""
    listener = socket.create_server(("127.0.0.1", 0))
    started, ended = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(_serve(paths, token, listener, started, ended))
    )
    thread.start()
    try:
        assert started.wait(60)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        thread.join(30)
        listener.close()


async def _serve(
    paths: Sequence[Path],
    token: str | None,
    listener: socket.socket,
    started: threading.Event,
    ended: threading.Event,
) -> None:
    observers = Observers()
    settings = Settings(isolation="thread")
    session = Session(paths, runtime="interpreter", settings=settings, observers=tuple(observers))
    async with session:
        application = Application(session, observers, paths=paths, token=Token(token))
        config = uvicorn.Config(application, lifespan="off", log_level="error", ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([listener]))
        started.set()
        await asyncio.to_thread(ended.wait)
        # Browsers keep connections open.
        server.should_exit = server.force_exit = True
        await serving
