"""Sessions under load: every answer is right and none is lost, whatever happens to workers."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.serving_bundles import FEATURES, exported_mlp, truth
from tests.serving.serving_gate import eventually
from topos.serving import Session, Settings

CLIENTS = 16
KILLS = 2


class Load:
    """Clients that ask until they are told to stop, and check what they get."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.stopped = False
        self.answered = self.cancelled = 0

    async def client(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        while not self.stopped:
            rows = int(random.integers(1, 20))
            x = random.integers(-4, 5, (rows, FEATURES)).astype(np.float32)
            if random.random() < 0.05:
                await self._abort(x, float(random.random()) * 0.002)
                continue
            self._judge(x, await self._session.infer_async("mlp", {"x": x}))
            # A pause leaves the machine time to start workers in.
            await asyncio.sleep(0.005)

    def _judge(self, x: Any, answer: dict[str, Any]) -> None:
        assert answer["scores"].tobytes() in (truth(x).tobytes(), truth(x, 2.0).tobytes())
        self.answered += 1

    async def _abort(self, x: Any, seconds: float) -> None:
        task = asyncio.create_task(self._session.infer_async("mlp", {"x": x}))
        await asyncio.sleep(seconds)
        if not task.cancel():
            self._judge(x, task.result())
            return
        with pytest.raises(asyncio.CancelledError):
            await task
        self.cancelled += 1

    async def kill(self) -> None:
        """Kills the worker while calls run, as soon as it has answered some."""
        answered = self.answered
        await eventually(lambda: self.answered > answered + CLIENTS)
        process = self._session.model("mlp").process
        assert process is not None
        os.kill(process, signal.SIGKILL)
        await eventually(lambda: self._session.model("mlp").process != process)


def test_killed_workers_and_reloads_lose_and_spoil_nothing(tmp_path: Path) -> None:
    exported_mlp(tmp_path / "mlp")
    settings = Settings(isolation="process", backoff=0.05)

    async def serve() -> None:
        async with Session(tmp_path / "mlp", runtime="interpreter", settings=settings) as session:
            load = Load(session)
            async with asyncio.TaskGroup() as group:
                for seed in range(CLIENTS):
                    group.create_task(load.client(seed))
                for turn in range(KILLS):
                    await asyncio.to_thread(
                        exported_mlp, tmp_path / "mlp", (1, 4, 8), 2.0 - turn % 2
                    )
                    # The one that is killed may be the old worker or the new one.
                    await asyncio.gather(load.kill(), session.reload_async("mlp"))
                load.stopped = True
            counters = session.counters("mlp")
            assert counters.outcomes == {"ok": load.answered, "cancelled": load.cancelled}
            # A worker that was killed at the end of its version is not replaced.
            assert counters.restarts <= KILLS
            assert counters.reloads == KILLS
            assert session.model("mlp").waiting == 0

    asyncio.run(serve())
