"""How requests share calls: order, sizes, padding, and what goes by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.serving.serving_bundles import FEATURES
from tests.serving.serving_gate import Gate, answered, asked, drawn, eventually, gated, served
from topos.serving import (
    Session,
    Settings,
    WorkerError,
)
from topos.serving.batcher import Batcher
from topos.serving.request import Request


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    with gated(monkeypatch) as gate:
        yield gate


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


def test_arrays_that_trade_rows_meanwhile_spoil_no_other(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        first = asked(session, 1)
        await eventually(lambda: gate.seen)
        arrays = [np.ones((rows, FEATURES), np.float32) for rows in (2, 1)]
        tasks = [asyncio.create_task(session.infer_async("mlp", {"x": each})) for each in arrays]
        tasks.insert(1, asked(session, 3))
        await eventually(lambda: session.model("mlp").waiting == 4)
        for array, rows in zip(arrays, (1, 2), strict=True):
            array.resize((rows, FEATURES), refcheck=False)
        gate.opened.set()
        await answered(tasks[1], 3)
        for task in (tasks[0], tasks[2]):
            with pytest.raises(
                WorkerError, match=r"^mlp failed: ValueError: an input was admitted"
            ):
                await task
        await answered(first, 1)

    served(folder, body)


@pytest.mark.parametrize("shared", [True, False])
def test_answers_of_one_call_do_not_overlap(
    folder: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    if not shared:
        monkeypatch.setattr("topos.serving.batch.SHARED_BYTES", 0)

    async def body(session: Session) -> None:
        gate.opened.set()
        tasks = [asked(session, 2, seed) for seed in range(3)]
        found = [(await task)["scores"] for task in tasks]
        assert session.counters("mlp").calls == {8: 1}
        assert (found[0].base is not None and found[0].base is found[1].base) == shared
        kept = [each.tobytes() for each in found]
        found[1][:] = np.nan
        assert [found[place].tobytes() == kept[place] for place in range(3)] == [True, False, True]
        await answered(asked(session, 8), 8)
        assert found[0].tobytes() == kept[0]

    served(folder, body)


def test_a_delay_gathers_and_a_full_call_ends_it(folder: Path, gate: Gate) -> None:
    async def body(session: Session) -> None:
        gate.opened.set()

        async def nothing_runs() -> None:
            # A call of another model takes as many turns of the loop as one of this would.
            await session.infer_async("total", {"x": drawn(3)[:, :2]})
            assert not session.counters("mlp").calls

        early = asked(session, 3)
        await nothing_runs()
        gone = asked(session, 4)
        await nothing_runs()
        gone.cancel()
        await nothing_runs()
        # Rows that left count no more: with those of the cancelled request it were nine.
        late = asked(session, 2)
        await nothing_runs()
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


def test_what_failed_goes_first_and_alone_unless_it_is_done() -> None:
    async def take() -> None:
        batcher = Batcher(Settings())
        requests = [
            Request([drawn(rows)], rows, 0, None, asyncio.get_running_loop())
            for rows in (1, 2, 3, 4)
        ]
        for request in requests:
            batcher.enter(request)
        failed = batcher.take(8)
        assert [batch_slice.rows for batch_slice in failed] == [1, 2, 3]
        batcher.again(failed)
        requests[1].future.cancel()
        taken = [[batch_slice.rows for batch_slice in batcher.take(8)] for _ in range(4)]
        assert taken == [[1], [3], [4], []]
        assert not batcher.waits

    asyncio.run(take())
