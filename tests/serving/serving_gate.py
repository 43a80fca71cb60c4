"""A gate before every call of a model in a thread, so that a test says when a call runs."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.errors import ExecutionError
from topos.serving.arena import Arena
from topos.serving.loaded import LoadedModel

__all__ = ["Gate", "eventually"]


class Gate:
    """Calls wait at a closed gate; `seen` holds the inputs of each call that came to it.

    A call whose inputs hold a number of `poison` fails.
    """

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.poison: set[float] = set()
        self.seen: list[list[npt.NDArray[Any]]] = []
        self._run = LoadedModel.run

    def run(self, model: LoadedModel, program: int, arena: Arena) -> None:
        """Takes the place of `LoadedModel.run`."""
        self.seen.append([np.array(each) for each in arena.inputs[program]])
        assert self.opened.wait(20.0)
        for number in self.poison:
            if any((each == number).any() for each in arena.inputs[program]):
                raise ExecutionError(f"{number:g} is poison")
        self._run(model, program, arena)


async def eventually(holds: Any) -> None:
    """Returns once `holds()` is true."""
    async with asyncio.timeout(20.0):
        while not holds():
            await asyncio.sleep(0.002)
