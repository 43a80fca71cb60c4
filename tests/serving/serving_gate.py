"""A gate before every call of a model in a thread, so that a test says when a call runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.serving.serving_bundles import FEATURES, truth
from topos.errors import ExecutionError
from topos.serving import Session, Settings
from topos.serving.description import Arena
from topos.serving.loaded import LoadedModel

__all__ = ["Body", "Gate", "answered", "asked", "drawn", "eventually", "gated", "served"]

Array = npt.NDArray[Any]
Body = Callable[[Session], Awaitable[None]]


class Gate:
    """Calls wait at a closed gate; `seen` holds the inputs of each call that came to it.

    A call whose inputs hold a number of `poison` fails.
    """

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.poison: set[float] = set()
        self.seen: list[list[Array]] = []
        self._run = LoadedModel.run

    def run(self, model: LoadedModel, program: int, arena: Arena) -> None:
        """Takes the place of `LoadedModel.run`."""
        self.seen.append([np.array(each) for each in arena.inputs[program]])
        assert self.opened.wait(20.0)
        for number in self.poison:
            if any((each == number).any() for each in arena.inputs[program]):
                raise ExecutionError(f"{number:g} is poison")
        self._run(model, program, arena)


@contextmanager
def gated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Puts a gate before every call of a model in this process, and opens it at the end."""
    gate = Gate()
    monkeypatch.setattr(
        LoadedModel, "run", lambda model, program, arena: gate.run(model, program, arena)
    )
    yield gate
    gate.opened.set()


async def eventually(holds: Any) -> None:
    """Returns once `holds()` is true."""
    async with asyncio.timeout(20.0):
        while not holds():
            await asyncio.sleep(0.002)


def served(folder: Path, body: Body, **settings: Any) -> None:
    """Runs `body` with a session of the models `mlp` and `total` in `folder`."""

    async def serve() -> None:
        session = Session(
            [folder / "mlp", folder / "total"],
            runtime="interpreter",
            settings=Settings(**settings),
        )
        async with session:
            await body(session)

    asyncio.run(serve())


def drawn(rows: int, seed: int = 0) -> Array:
    """Returns rows for `mlp`, no number of them zero."""
    numbers = np.random.default_rng((rows, seed)).integers(1, 5, (rows, FEATURES))
    return numbers.astype(np.float32)


def asked(session: Session, rows: int, seed: int = 0) -> asyncio.Task[dict[str, Array]]:
    """Starts a request of drawn rows."""
    return asyncio.create_task(session.infer_async("mlp", {"x": drawn(rows, seed)}))


async def answered(task: asyncio.Task[dict[str, Array]], rows: int, seed: int = 0) -> None:
    """Requires the right answer to what was asked."""
    assert (await task)["scores"].tobytes() == truth(drawn(rows, seed)).tobytes()
