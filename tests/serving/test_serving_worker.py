"""What a session makes of workers that die, hang, fail, or answer nonsense."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving import strange_worker
from tests.serving.serving_bundles import FEATURES, truth
from tests.serving.serving_gate import eventually
from topos.errors import CrashError
from topos.serving import (
    DrainingError,
    NotReadyError,
    Session,
    Settings,
    WorkerError,
    process_worker,
)
from topos.serving.messages import Origin


class Reasons:
    """Keeps why workers were replaced."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def worker_restarted(self, model: str, reason: str) -> None:
        self.told.append(f"{model}: {reason}")

    def request_finished(self, *_: Any) -> None: ...
    def call_finished(self, *_: Any) -> None: ...
    def reload_finished(self, *_: Any) -> None: ...


REASONS = Reasons()
# Longer than anything takes on a machine that does much else.
SECONDS = 60.0


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("faults")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_worker, "MODULE", "tests.serving.strange_worker")
        patch.setenv(strange_worker.FOLDER, str(folder))
        yield folder


@pytest.fixture(scope="module")
def session(bundle: Path, faults: Path) -> Iterator[Session]:
    settings = Settings(isolation="process", call_seconds=2.0, backoff=0.05)
    with Session(bundle, runtime="interpreter", settings=settings, observers=[REASONS]) as session:
        yield session


def drawn(rows: int) -> Any:
    return np.arange(rows * FEATURES, dtype=np.float32).reshape(rows, FEATURES) % 11


async def answered(session: Session, rows: int = 3) -> None:
    answer = await session.infer_async("mlp", {"x": drawn(rows)})
    assert answer["scores"].tobytes() == truth(drawn(rows)).tobytes()


async def all_answered(session: Session, *rows: int) -> None:
    await asyncio.gather(*(answered(session, count) for count in rows))


def pid_of(session: Session) -> int:
    pid = session.model("mlp").process
    assert pid is not None
    return pid


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("call-dies", "died of SIGKILL\nthese are my last words"),
        ("call-hangs", "was stopped after 2 seconds in one call"),
        ("call-other", "answered call 1000000 where call "),
        ("call-garbage", "a frame was due, and b'\\xff"),
        ("call-closes", "closed its socket and was stopped"),
    ],
)
def test_requests_run_again_on_a_new_worker(
    session: Session, faults: Path, fault: str, reason: str
) -> None:
    gone, before = pid_of(session), len(REASONS.told)
    restarts = session.counters("mlp").restarts
    (faults / fault).touch()
    asyncio.run(all_answered(session, 1, 9, 3))
    (told,) = REASONS.told[before:]
    assert told.startswith("mlp: the worker ")
    assert reason in told
    assert session.counters("mlp").restarts == restarts + 1
    assert set(session.counters("mlp").outcomes) == {"ok"}
    assert session.model("mlp").ready
    assert pid_of(session) != gone
    assert not is_alive(gone)


def test_an_idle_worker_that_dies_is_replaced(session: Session) -> None:
    async def kill() -> None:
        os.kill(pid_of(session), signal.SIGKILL)
        await eventually(lambda: not session.model("mlp").ready)
        assert session.model("mlp").reason == "the worker died of SIGKILL"
        await answered(session)
        assert session.model("mlp").ready
        assert session.model("mlp").reason == ""

    asyncio.run(kill())


def test_a_worker_that_dies_is_replaced_on_a_servers_own_kind_of_loop(bundle: Path) -> None:
    uvloop = pytest.importorskip("uvloop")
    settings = Settings(isolation="process", call_seconds=SECONDS, backoff=0.05)

    async def serve() -> None:
        async with Session(bundle, runtime="interpreter", settings=settings) as session:
            gone = pid_of(session)
            os.kill(gone, signal.SIGKILL)
            async with asyncio.timeout(SECONDS / 2):
                await answered(session)
            assert pid_of(session) != gone

    uvloop.run(serve())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_asks_a_service_to_stop_leaves_workers_to_the_session(
    session: Session, number: int
) -> None:
    pid = pid_of(session)
    os.kill(pid, number)
    asyncio.run(all_answered(session, 9, 1))
    assert pid_of(session) == pid


def test_a_failed_call_is_told_and_spares_the_worker(session: Session, faults: Path) -> None:
    first = pid_of(session)
    (faults / "call-fails").touch()
    with pytest.raises(WorkerError, match=r"^mlp failed: the runtime is out of sorts$") as told:
        session.infer("mlp", {"x": drawn(1)})
    assert told.value.status == 500
    asyncio.run(answered(session, 1))
    assert pid_of(session) == first


def test_a_request_that_ends_two_workers_fails_and_others_do_not(
    session: Session, faults: Path
) -> None:
    async def ask() -> None:
        (faults / "call-dies").touch()
        (faults / "call-hangs").touch()
        bad = asyncio.create_task(answered(session, 1))
        await eventually(lambda: not (faults / "call-dies").exists())
        good = [asyncio.create_task(answered(session, rows)) for rows in (1, 3)]
        with pytest.raises(WorkerError, match=r"^mlp failed: the worker was stopped after 2 sec"):
            await bad
        await asyncio.gather(*good)

    asyncio.run(ask())


def test_a_worker_that_fails_at_its_start_is_started_again(bundle: Path, faults: Path) -> None:
    for fault in ("start-dies", "start-hangs", "start-garbage"):
        (faults / fault).touch()
    settings = Settings(isolation="process", start_seconds=SECONDS, backoff=0.2)

    def within(seconds: float) -> None:
        object.__setattr__(settings, "start_seconds", seconds)

    async def serve() -> None:
        async with Session(bundle, runtime="interpreter", settings=settings) as session:
            # Short until one that hangs was stopped, unless no other starts in that time either.
            within(limit := 3.0)
            status = session.model("mlp")
            assert not status.ready
            assert status.reason == "the worker ended with status 3\nno such luck"
            with pytest.raises(NotReadyError, match=r"^mlp is not ready: the worker ") as caught:
                await answered(session)
            assert caught.value.status == 503
            late, seen = "the worker was not ready within", set[str]()
            while not session.model("mlp").ready:
                seen.add(session.model("mlp").reason)
                if f"{late} {limit:g} seconds" in seen:
                    limit = 2 * limit if (faults / "start-hangs").exists() else SECONDS
                    within(limit)
                await asyncio.sleep(0.01)
            assert any(each.startswith(late) for each in seen)
            assert any(each.startswith("the worker was stopped: a frame was") for each in seen)
            await answered(session)

    asyncio.run(serve())


def test_closing_ends_a_worker_and_one_that_starts(bundle: Path, faults: Path) -> None:
    pids = list[int]()
    pid_file = faults / "start-hangs-pid"
    pid_file.unlink(missing_ok=True)

    async def serve() -> None:
        settings = Settings(isolation="process")
        async with Session(bundle, runtime="interpreter", settings=settings) as session:
            pids.append(pid_of(session))
            (faults / "start-hangs").touch()
            os.kill(pids[0], signal.SIGKILL)
            waiting = asyncio.create_task(answered(session))
            await eventually(lambda: pid_file.exists() and pid_file.read_text())
            pids.append(int(pid_file.read_text()))
            assert is_alive(pids[1])
        with pytest.raises(DrainingError, match="closed before the request was served"):
            await waiting

    asyncio.run(serve())
    assert not any(map(is_alive, pids))


def test_closing_ends_a_reload_that_is_under_way(bundle: Path, faults: Path) -> None:
    pid_file = faults / "start-hangs-pid"
    pid_file.unlink(missing_ok=True)

    async def serve() -> None:
        settings = Settings(isolation="process")
        async with Session(bundle, runtime="interpreter", settings=settings) as session:
            (faults / "start-hangs").touch()
            reloading = asyncio.create_task(session.reload_async("mlp"))
            await eventually(lambda: pid_file.exists() and pid_file.read_text())
            assert await session.drain_async(20.0)
        with pytest.raises(DrainingError, match="mlp was closed before it was reloaded"):
            await reloading

    asyncio.run(serve())
    assert not is_alive(int(pid_file.read_text()))


def test_a_child_that_is_never_ready_raises(bundle: Path, faults: Path) -> None:
    (faults / "start-dies").touch()

    async def start() -> None:
        origin = Origin(str(bundle), "interpreter", "fast", {}, None)
        await process_worker.ProcessWorker.start(origin, Settings())

    with pytest.raises(CrashError, match="no such luck"):
        asyncio.run(start())
