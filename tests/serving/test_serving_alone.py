"""A request that is alone: run on the loop or waited for there, where that is quick."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving import strange_worker
from tests.serving.serving_gate import answered, asked, drawn, served
from topos.serving import DeadlineError, Session, WorkerError, process_worker, spin_wait
from topos.serving.description import Arena
from topos.serving.loaded import LoadedModel
from topos.serving.spin_wait import Patience, received_soon
from topos.serving.worker import Pace


class Places:
    """Takes the place of `LoadedModel.run`, and notes whether each call ran on the loop.

    It stands for the module `time`, too: a call takes `seconds`.
    """

    def __init__(self) -> None:
        self.on_loop: list[bool] = []
        self.seconds = self.now = 0.0
        self.fault: Exception | None = None
        self._run = LoadedModel.run

    def perf_counter(self) -> float:
        return self.now

    def run(self, model: LoadedModel, program: int, arena: Arena) -> None:
        self.on_loop.append(threading.current_thread() is threading.main_thread())
        self.now += self.seconds
        if self.fault is not None:
            raise self.fault
        self._run(model, program, arena)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Places:
    places = Places()
    monkeypatch.setattr(LoadedModel, "run", lambda *given: places.run(*given))
    for module in ("loaded", "model_queue"):
        monkeypatch.setattr(f"topos.serving.{module}.time", places)
    return places


def test_a_quick_call_runs_on_the_loop_once_it_is_known_to_be(folder: Path, places: Places) -> None:
    async def body(session: Session) -> None:
        for _ in range(3):
            await answered(asked(session, 4), 4)
        # Another program, of which nothing is known yet.
        await answered(asked(session, 1), 1)

    served(folder, body)
    assert places.on_loop == [False, True, True, False]


def test_requests_that_are_not_alone_leave_the_loop_free(folder: Path, places: Places) -> None:
    async def body(session: Session) -> None:
        await answered(asked(session, 8), 8)
        tasks = [asked(session, 4, seed) for seed in range(2)]
        for seed, task in enumerate(tasks):
            await answered(task, 4, seed)
        # One that takes several calls would hold the loop for all of them.
        await answered(asked(session, 20), 20)

    served(folder, body)
    assert not any(places.on_loop)


def test_a_slow_program_leaves_the_loop_free(folder: Path, places: Places) -> None:
    async def body(session: Session) -> None:
        await answered(asked(session, 1), 1)
        places.seconds = 0.011
        await answered(asked(session, 1), 1)
        places.seconds = 0.0
        await answered(asked(session, 1), 1)

    served(folder, body)
    # A tenth of what the second took is more than a quick call may take.
    assert places.on_loop == [False, True, False]


def test_a_deadline_holds_in_a_call_on_the_loop(folder: Path, places: Places) -> None:
    async def body(session: Session) -> None:
        await answered(asked(session, 1), 1)
        places.seconds = 0.05
        with pytest.raises(DeadlineError, match=r"within the deadline of 0\.05 seconds"):
            await session.infer_async("mlp", {"x": drawn(1)}, deadline=0.05)
        assert session.model("mlp").waiting == 0
        places.seconds = 0.0
        await answered(asked(session, 1), 1)

    served(folder, body)
    assert places.on_loop[:2] == [False, True]


def test_a_failure_on_the_loop_is_the_request_s_own(folder: Path, places: Places) -> None:
    async def body(session: Session) -> None:
        await answered(asked(session, 1), 1)
        places.fault = ZeroDivisionError("of all things")
        with pytest.raises(WorkerError, match=r"^mlp failed: ZeroDivisionError: of all things$"):
            await asked(session, 1)
        places.fault = None
        await answered(asked(session, 1), 1)

    served(folder, body)
    assert places.on_loop == [False, True, True]


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(process_worker, "MODULE", "tests.serving.strange_worker")
    monkeypatch.setattr(process_worker, "SPIN_SECONDS", 2.0)
    monkeypatch.setenv(strange_worker.FOLDER, str(tmp_path))
    return tmp_path


def test_a_worker_that_goes_wrong_while_the_loop_waits_for_it_is_replaced(
    folder: Path, faults: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = list[bool]()
    monkeypatch.setattr(process_worker, "received_soon", noted(waited))

    async def body(session: Session) -> None:
        for fault in ("", "call-dies", "call-garbage"):
            # Of a worker that has not answered yet, nobody knows how long it takes.
            await answered(asked(session, 1), 1)
            waited.clear()
            if fault:
                (faults / fault).touch()
            await answered(asked(session, 1), 1)
            assert waited == [True]
        assert session.counters("mlp").restarts == 2

    served(folder, body, isolation="process", backoff=0.01)


def noted(waited: list[bool]) -> Any:
    """Returns `received_soon`, which notes whether anything came."""

    def receive(connection: socket.socket, seconds: float) -> bytes | None:
        data = received_soon(connection, seconds)
        waited.append(data is not None)
        return data

    return receive


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


class Ticking:
    """The module `time` where ten microseconds pass whenever somebody looks."""

    now = 0.0

    def perf_counter(self) -> float:
        self.now += 1e-5
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    clock = Ticking()
    monkeypatch.setattr(spin_wait, "time", clock)
    return clock


def test_what_comes_soon_is_taken_and_nothing_is_waited_for_longer(
    pair: tuple[socket.socket, socket.socket], clock: Ticking
) -> None:
    ours, theirs = pair
    assert received_soon(ours, 0.01) is None
    assert clock.now == pytest.approx(0.01, rel=0.01)
    theirs.send(b"here")
    assert received_soon(ours, 0.0) == b"here"
    theirs.close()
    assert received_soon(ours, 20.0) == b""


def test_a_worker_sleeps_where_the_last_call_let_it_wait(
    pair: tuple[socket.socket, socket.socket], clock: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pair
    waited = list[bool]()

    def receive(connection: socket.socket, seconds: float) -> bytes | None:
        data = received_soon(connection, seconds)
        waited.append(data is not None)
        if data is None:
            clock.now += 1.0
            theirs.send(b"late")
        return data

    monkeypatch.setattr(spin_wait, "received_soon", receive)
    patience = Patience(ours)
    assert patience.received(soon=True) == b"late"
    assert waited == [False]
    for expected in ([False], [False, True], [False, True]):
        theirs.send(b"next")
        # The call before the first of these was late; the last is told to sleep.
        assert patience.received(soon=len(waited) < 2) == b"next"
        assert waited == expected


def test_a_pace_is_a_mean_of_what_calls_took() -> None:
    pace = Pace(2, most=2.0)
    assert pace.seconds(1) == float("inf")
    pace.learn(1, 1.0)
    pace.learn(1, 100.0)
    assert pace.seconds(1) == pytest.approx(1.1)
    assert pace.seconds(0) == float("inf")
