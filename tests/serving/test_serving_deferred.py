"""What is put off until answers are on their way, and never lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.serving.serving_bundles import exported_mlp
from tests.serving.serving_gate import answered, asked
from topos.serving import Session
from topos.serving.deferred import DeferredCallbacks


def test_work_is_put_off_by_two_turns_and_done_in_order() -> None:
    done = list[str]()

    async def work() -> None:
        deferred = DeferredCallbacks()
        deferred.add(done.append, "first")
        await asyncio.sleep(0)
        deferred.add(done.append, "second")
        done.append("answer")
        await asyncio.sleep(0)
        assert done == ["answer", "first", "second"]
        deferred.add(done.append, "third")
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(work())
    assert done == ["answer", "first", "second", "third"]


class Witness:
    """Notes what it is told of."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def request_finished(self, model: str, outcome: str, rows: int, seconds: float) -> None:
        self.told.append(outcome)

    def call_finished(self, *_: Any) -> None:
        self.told.append("call")

    def worker_restarted(self, *_: Any) -> None: ...
    def reload_finished(self, *_: Any) -> None: ...


def test_observers_hear_of_a_request_after_its_answer_and_before_the_end(tmp_path: Path) -> None:
    exported_mlp(tmp_path / "mlp", rows=(1,))
    witness = Witness()

    async def serve() -> None:
        session = Session(tmp_path / "mlp", runtime="interpreter", observers=[witness])
        async with session:
            await answered(asked(session, 1), 1)
            assert witness.told == []
            assert session.counters("mlp").outcomes == {"ok": 1}
            assert session.counters("mlp").calls == {1: 1}
        assert witness.told == ["call", "ok"]

    asyncio.run(serve())
