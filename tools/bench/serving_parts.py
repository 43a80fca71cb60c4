"""The parts of one request, timed in turn in one process, beside those of the bare handler."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np
from serving_rival import classifier
from serving_truths import Truths
from serving_wire import Wire, body_of

from topos import runtimes
from topos.bundle import Bundle
from topos.serving import Session, Settings
from topos.serving.http.request import read_inference
from topos.serving.http.response import write_response

__all__ = ["parts"]

IN_A_ROW: Final = 20
LONGEST: Final = 2**24

Part = Callable[[], Awaitable[object]]


async def parts(folder: Path, rounds: int) -> dict[str, float]:
    """Returns the seconds of each part for one row in JSON, the least of so many rounds."""
    bundle = Bundle.load(folder)
    feeds = Truths.of(bundle).feeds([0])
    program, values = bundle.programs[0], bundle.weights()
    held = {
        place: values[argument.name]
        for place, argument in enumerate(program.arguments)
        if argument.resident
    }
    call = runtimes.load("xla").compile(program.text, numerics="fast").bind(held)
    rival, images = classifier(values), feeds["images"]
    text = body_of(feeds, Wire.JSON)[1]
    async with AsyncExitStack() as stack:
        process, thread = [
            await stack.enter_async_context(Session(folder, settings=Settings(isolation=isolation)))
            for isolation in ("process", "thread")
        ]
        (model,) = process.models()
        inference = read_inference(text, None, model, LONGEST)
        results = await process.infer_async(bundle.name, feeds)
        scores = results["scores"]
        return await _least(
            {
                "call of the module": _at_once(lambda: call(images)),
                "call of jax.jit": _at_once(lambda: rival(images)),
                "session, worker process": lambda: process.infer_async(bundle.name, feeds),
                "session, worker thread": lambda: thread.infer_async(bundle.name, feeds),
                "reading": _at_once(lambda: read_inference(text, None, model, LONGEST)),
                "reading, bare handler": _at_once(lambda: _read(text)),
                "writing": _at_once(
                    lambda: write_response(results, inference, model.name, model.version)
                ),
                "writing, bare handler": _at_once(lambda: _written(scores)),
            },
            rounds,
        )


async def _least(them: dict[str, Part], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(them, float("inf"))
    for _ in range(rounds):
        for name, part in them.items():
            start = time.perf_counter()
            for _ in range(IN_A_ROW):
                await part()
            best[name] = min(best[name], (time.perf_counter() - start) / IN_A_ROW)
    return best


def _at_once(function: Callable[[], object]) -> Part:
    async def part() -> object:
        return function()

    return part


def _read(text: bytes) -> Any:
    asked = json.loads(text)["inputs"][0]
    return np.array(asked["data"], np.float32).reshape(asked["shape"])


def _written(scores: Any) -> bytes:
    return json.dumps({"outputs": [{"name": "scores", "data": scores.ravel().tolist()}]}).encode()
