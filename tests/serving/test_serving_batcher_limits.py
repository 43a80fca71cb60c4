"""What bounds a queue, and what leaves it: deadlines, cancellations, drains and closings."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.serving_bundles import FEATURES
from tests.serving.serving_gate import Gate, answered, asked, drawn, eventually, gated, served
from topos.serving import (
    BusyError,
    DeadlineError,
    DrainingError,
    RequestError,
    Session,
    TooLargeError,
)
from topos.serving.home import BackgroundLoop


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    with gated(monkeypatch) as gate:
        yield gate


def test_an_observer_that_fails_loses_no_request(folder: Path, gate: Gate) -> None:
    told = list[str]()

    class Faulty:
        def request_finished(self, *_: Any) -> None:
            raise ZeroDivisionError

        call_finished = worker_restarted = reload_finished = request_finished

    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: told.append(context["message"])
        )
        gate.opened.set()
        async with Session(folder / "mlp", runtime="interpreter", observers=[Faulty()]) as session:
            await answered(asked(session, 9), 9)

    asyncio.run(serve())
    assert len(told) == 3
    assert all(each.startswith("an observer failed in <bound method") for each in told)


def test_a_full_queue_is_busy_and_empties(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        tasks = [asked(session, 1, seed) for seed in range(3)]
        await eventually(lambda: session.model("mlp").waiting == 3)
        with pytest.raises(BusyError, match="the queue of mlp is full") as caught:
            await asked(session, 1)
        assert caught.value.retry_after > 0.0
        assert caught.value.status == 429
        gate.opened.set()
        for seed, task in enumerate(tasks):
            await answered(task, 1, seed)
        await answered(asked(session, 1), 1)
        assert session.counters("mlp").outcomes == {"ok": 4, "BusyError": 1}

    served(folder, body, queue_requests=3)


class Clock:
    """Stands for the module `time`."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


def test_a_full_queue_tells_when_it_will_have_been_served(
    folder: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("topos.serving.model_queue.time", clock)

    async def body(session: Session) -> None:
        for seconds in (2.0, 1.0):
            gate.opened.clear()
            seen = len(gate.seen)
            task = asked(session, 1)
            await eventually(lambda seen=seen: len(gate.seen) > seen)
            clock.now += seconds
            gate.opened.set()
            await answered(task, 1)
        gate.opened.clear()
        tasks = [asked(session, 8, seed) for seed in range(3)]
        await eventually(lambda: len(gate.seen) == 3)
        with pytest.raises(BusyError) as caught:
            await asked(session, 1)
        # Two calls wait, of which the last tells a tenth and those before the rest.
        assert caught.value.retry_after == pytest.approx(2 * (0.9 * 2.0 + 0.1 * 1.0))
        gate.opened.set()
        await asyncio.gather(*tasks)

    served(folder, body, queue_requests=3)


def test_the_queue_is_bounded_in_bytes(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        tasks = [asked(session, 2), asked(session, 2)]
        await eventually(lambda: session.model("mlp").waiting == 2)
        with pytest.raises(BusyError):
            await asked(session, 2)
        gate.opened.set()
        await asyncio.gather(*tasks)
        await asyncio.gather(asked(session, 2), asked(session, 2))
        with pytest.raises(TooLargeError, match=r"^inputs: need 100 bytes at most, got 120$"):
            await asked(session, 5)

    served(folder, body, queue_bytes=2 * 2 * FEATURES * 4, max_bytes=100)


def test_a_deadline_holds_in_the_queue_and_in_a_call(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        running = asyncio.create_task(session.infer_async("mlp", {"x": drawn(1)}, deadline=0.05))
        await eventually(lambda: gate.seen)
        waiting = asyncio.create_task(session.infer_async("mlp", {"x": drawn(20)}, deadline=0.05))
        patient = asked(session, 2)
        for task in (running, waiting):
            with pytest.raises(DeadlineError, match=r"within the deadline of 0.05 seconds"):
                await task
        assert session.model("mlp").waiting == 1
        gate.opened.set()
        await answered(patient, 2)
        assert len(gate.seen) == 2

    served(folder, body)


def test_a_short_deadline_does_not_wait_for_a_longer_one(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        patient = asked(session, 1)
        await eventually(lambda: gate.seen)
        for seconds in (0.2, 0.05):
            async with asyncio.timeout(10.0):
                with pytest.raises(DeadlineError):
                    await session.infer_async("mlp", {"x": drawn(2)}, deadline=seconds)
        gate.opened.set()
        await answered(patient, 1)

    served(folder, body)


def test_a_cancelled_request_leaves_the_queue(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        first, gone, last = asked(session, 1), asked(session, 20), asked(session, 2)
        await eventually(lambda: session.model("mlp").waiting == 3 and gate.seen)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert session.model("mlp").waiting == 2
        gate.opened.set()
        await answered(first, 1)
        await answered(last, 2)
        assert session.counters("mlp").outcomes == {"cancelled": 1, "ok": 2}

    served(folder, body)


def test_a_drain_answers_what_came_and_takes_no_more(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        tasks = [asked(session, rows) for rows in (1, 9)]
        await eventually(lambda: session.model("mlp").waiting == 2)
        assert not await session.drain_async(0.05)
        with pytest.raises(DrainingError, match="mlp takes no more requests"):
            await asked(session, 1)
        assert not session.model("mlp").ready
        draining = asyncio.create_task(session.drain_async(20.0))
        gate.opened.set()
        assert await draining
        assert all(task.done() for task in tasks)
        await answered(tasks[0], 1)
        await answered(tasks[1], 9)

    served(folder, body)


def test_closing_refuses_what_still_waits(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        tasks = [asked(session, 1), asked(session, 9)]
        await eventually(lambda: session.model("mlp").waiting == 2)
        await session.close_async()
        for task in tasks:
            with pytest.raises(DrainingError, match="closed before the request was served"):
                await task

    served(folder, body)


def test_a_request_that_comes_as_the_session_closes_is_refused(folder: Path) -> None:
    async def body(session: Session) -> None:
        asking = session.outcome_async("mlp", {"x": drawn(1)})
        await session.close_async()
        async with asyncio.timeout(10.0):
            with pytest.raises(DrainingError, match="mlp takes no more requests"):
                await asking

    served(folder, body)


def test_closing_answers_threads_that_wait(folder: Path, gate: Gate) -> None:
    refused = list[str]()

    def ask(session: Session) -> None:
        with pytest.raises(DrainingError) as caught:
            session.infer("mlp", {"x": drawn(9)})
        refused.append(str(caught.value))

    session = Session(folder / "mlp", runtime="interpreter").open()
    threads = [threading.Thread(target=ask, args=(session,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    asyncio.run(eventually(lambda: session.model("mlp").waiting == 4))
    session.close()
    for thread in threads:
        thread.join(20.0)
    assert refused == ["the session was closed before the request was served"] * 4


def test_a_loop_in_the_background_leaves_nobody_waiting() -> None:
    background = BackgroundLoop("topos test")
    waiting = asyncio.run_coroutine_threadsafe(asyncio.sleep(60.0), background.loop)
    background.stop()
    with pytest.raises(CancelledError):
        waiting.result(5.0)
    assert background.loop.is_closed()


def test_a_refused_request_takes_no_place(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        with pytest.raises(RequestError):
            await session.infer_async("mlp", {"x": drawn(1).astype(np.float16)})
        assert session.counters("mlp").outcomes == {"RequestError": 1}
        assert session.model("mlp").waiting == 0
        assert not gate.seen

    served(folder, body)
