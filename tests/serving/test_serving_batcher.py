"""How requests share calls: order, sizes, padding, bounds, and what leaves the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.serving.serving_bundles import FEATURES, exported_mlp, exported_total, truth
from tests.serving.serving_gate import Gate, eventually
from topos.serving import (
    BusyError,
    DeadlineError,
    DrainingError,
    RequestError,
    Session,
    Settings,
    TooLargeError,
    WorkerError,
)
from topos.serving.batcher import Batcher
from topos.serving.loaded import LoadedModel
from topos.serving.request import Request

Array = npt.NDArray[Any]
Body = Callable[[Session], Awaitable[None]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles")
    exported_mlp(path / "mlp")
    exported_total(path / "total")
    return path


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(
        LoadedModel, "run", lambda model, program, arena: gate.run(model, program, arena)
    )
    yield gate
    gate.opened.set()


def served(folder: Path, body: Body, **settings: Any) -> None:
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
    numbers = np.random.default_rng((rows, seed)).integers(1, 5, (rows, FEATURES))
    return numbers.astype(np.float32)


def asked(session: Session, rows: int, seed: int = 0) -> asyncio.Task[dict[str, Array]]:
    return asyncio.create_task(session.infer_async("mlp", {"x": drawn(rows, seed)}))


async def answered(task: asyncio.Task[dict[str, Array]], rows: int, seed: int = 0) -> None:
    assert (await task)["scores"].tobytes() == truth(drawn(rows, seed)).tobytes()


def test_what_waits_while_the_worker_is_busy_goes_together(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        first = asked(session, 1)
        await eventually(lambda: gate.seen)
        others = [asked(session, rows) for rows in (3, 2, 2, 5)]
        await eventually(lambda: session.model("mlp").waiting == 5)
        gate.opened.set()
        await answered(first, 1)
        for task, rows in zip(others, (3, 2, 2, 5), strict=True):
            await answered(task, rows)
        # The request of five rows came last and does not fit beside the others.
        assert [each[0].shape[0] for each in gate.seen] == [1, 8, 8]
        gathered = np.concatenate([drawn(3), drawn(2), drawn(2)])
        assert gate.seen[1][0].tobytes() == np.vstack([gathered, np.zeros((1, 6), "f4")]).tobytes()
        assert session.counters("mlp").calls == {1: 1, 8: 2}
        assert session.counters("mlp").padding == 1 + 3
        assert session.counters("mlp").rows == 13

    served(folder, body)


def test_padding_is_zeros_whatever_a_call_left_behind(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.opened.set()
        await answered(asked(session, 8), 8)
        await answered(asked(session, 2), 2)
        await answered(asked(session, 5), 5)
        shapes = [each[0].shape[0] for each in gate.seen]
        assert shapes == [8, 4, 8]
        assert not gate.seen[1][0][2:].any()
        assert not gate.seen[2][0][5:].any()

    served(folder, body)


def test_requests_of_one_turn_of_the_loop_share_a_call(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.opened.set()
        tasks = [asked(session, 2, seed) for seed in range(4)]
        for seed, task in enumerate(tasks):
            await answered(task, 2, seed)
        assert session.counters("mlp").calls == {8: 1}

    served(folder, body)


def test_a_large_request_takes_several_calls_in_its_turn(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.opened.set()
        small, large, last = asked(session, 1), asked(session, 21), asked(session, 1, 9)
        await answered(small, 1)
        await answered(large, 21)
        await answered(last, 1, 9)
        counts = [int(each[0].any(axis=1).sum()) for each in gate.seen]
        assert counts == [1, 8, 8, 6]

    served(folder, body)


def test_without_batching_each_request_runs_alone(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.opened.set()
        tasks = [asked(session, rows) for rows in (1, 1, 9)]
        for task, rows in zip(tasks, (1, 1, 9), strict=True):
            await answered(task, rows)
        assert session.counters("mlp").calls == {1: 3, 8: 1}

    served(folder, body, batching=False)


def test_a_bundle_without_rows_runs_one_request_a_call(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.opened.set()
        arrays = [drawn(3, seed)[:, :2] for seed in range(3)]
        answers = await asyncio.gather(
            *(session.infer_async("total", {"x": array}) for array in arrays)
        )
        assert [float(each["total"]) for each in answers] == [float(x.sum()) for x in arrays]
        assert session.counters("total").calls == {1: 3}
        assert session.counters("total").padding == 0

    served(folder, body)


def test_one_poisonous_request_fails_alone(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.poison = {99.0}
        gate.opened.set()
        good = [asked(session, rows) for rows in (1, 2)]
        poison = np.full((2, FEATURES), 99, np.float32)
        bad = asyncio.create_task(session.infer_async("mlp", {"x": poison}))
        last = asked(session, 2, 7)
        with pytest.raises(WorkerError, match=r"^mlp failed: 99 is poison$"):
            await bad
        await answered(good[0], 1)
        await answered(good[1], 2)
        await answered(last, 2, 7)
        rows = [int(each[0].any(axis=1).sum()) for each in gate.seen]
        assert rows == [7, 1, 2, 2, 2]

    served(folder, body)


def test_an_array_that_changes_shape_meanwhile_fails_alone(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        first = asked(session, 1)
        await eventually(lambda: gate.seen)
        array = np.zeros((2, FEATURES), np.float32)
        bad = asyncio.create_task(session.infer_async("mlp", {"x": array}))
        good = asked(session, 3)
        await eventually(lambda: session.model("mlp").waiting == 3)
        array.resize((FEATURES, 2), refcheck=False)
        gate.opened.set()
        with pytest.raises(WorkerError, match=r"^mlp failed: ValueError: "):
            await bad
        await answered(first, 1)
        await answered(good, 3)

    served(folder, body)


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


def test_a_delay_gathers_and_a_full_call_ends_it(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.opened.set()
        early = asked(session, 3)
        await asyncio.sleep(0.05)
        assert not gate.seen
        gone = asked(session, 4)
        await asyncio.sleep(0.05)
        gone.cancel()
        await asyncio.sleep(0.05)
        # Rows that left count no more: with those of the cancelled request it were nine.
        late = asked(session, 2)
        await asyncio.sleep(0.05)
        assert not gate.seen
        last = asked(session, 3)
        async with asyncio.timeout(10.0):
            await answered(early, 3)
            await answered(late, 2)
            await answered(last, 3)
        assert session.counters("mlp").calls == {8: 1}

    served(folder, body, max_delay=60.0)


def test_a_delay_ends_by_itself(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.opened.set()
        await answered(asked(session, 3), 3)

    served(folder, body, max_delay=0.05)


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


def test_what_failed_goes_first_and_alone_unless_it_is_done() -> None:
    async def take() -> None:
        batcher = Batcher(Settings())
        requests = [Request([drawn(rows)], rows, 0, None) for rows in (1, 2, 3, 4)]
        for request in requests:
            batcher.enter(request, 8)
        failed = batcher.take(8)
        assert [piece.rows for piece in failed] == [1, 2, 3]
        batcher.again(failed)
        requests[1].future.cancel()
        taken = [[piece.rows for piece in batcher.take(8)] for _ in range(4)]
        assert taken == [[1], [3], [4], []]
        assert not batcher.waits

    asyncio.run(take())


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


def test_a_refused_request_takes_no_place(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        with pytest.raises(RequestError):
            await session.infer_async("mlp", {"x": drawn(1).astype(np.float16)})
        assert session.counters("mlp").outcomes == {"RequestError": 1}
        assert session.model("mlp").waiting == 0
        assert not gate.seen

    served(folder, body)
