"""How workers start: the pauses between attempts, a start given up, and the frames they send."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.serving.serving_gate import eventually
from topos.errors import CrashError
from topos.serving import Session, Settings, process_worker
from topos.serving.loaded import LoadedModel
from topos.serving.messages import FrameError, Frames, Origin


def test_pauses_between_starts_double_up_to_the_longest(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses, sleep = list[float](), asyncio.sleep

    async def paused(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    def crashed(_: Origin) -> None:
        raise CrashError("as ever")

    async def serve() -> None:
        settings = Settings(backoff=2.0, max_backoff=9.0)
        async with Session(bundle, runtime="interpreter", settings=settings) as session:
            await eventually(lambda: len(pauses) > 4)
            assert session.model("mlp").reason == "as ever"

    monkeypatch.setattr(LoadedModel, "load", crashed)
    beside = SimpleNamespace(**{**vars(asyncio), "sleep": paused})
    monkeypatch.setattr("topos.serving.model_queue.asyncio", beside)
    asyncio.run(serve())
    assert pauses[:5] == [2.0, 4.0, 8.0, 9.0, 9.0]


def test_a_child_that_nobody_waits_for_any_more_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_go_on, ended = threading.Event(), threading.Event(), list[bool]()

    class SlowChild:
        def __init__(self, call_seconds: float) -> None:
            begun.set()
            assert may_go_on.wait(20.0)

        def end(self) -> None:
            ended.append(True)

    async def start() -> None:
        origin = Origin("nowhere", "interpreter", "fast", {}, None)
        starting = asyncio.create_task(process_worker.ProcessWorker.start(origin, Settings()))
        await eventually(begun.is_set)
        starting.cancel()
        await asyncio.sleep(0)
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await starting

    monkeypatch.setattr(process_worker, "Child", SlowChild)
    asyncio.run(start())
    assert ended == [True]


def test_frames_are_cut_from_any_pieces() -> None:
    frames, bodies = Frames(), list[bytes]()
    data = b"\x03\0\0\0abc\0\0\0\0\x01\0\0\0d"
    for place in range(len(data)):
        bodies += frames.feed(data[place : place + 1])
    assert bodies == [b"abc", b"", b"d"]
    assert Frames().feed(data) == bodies
    with pytest.raises(FrameError, match="a frame was due"):
        frames.feed(b"HTTP/1.1 200 OK")
