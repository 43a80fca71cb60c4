"""What befalls a server in a soak: bundles replaced and damaged under it, workers killed."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from serving_process import ServerProcess
from serving_wire import message
from soak_http import Connection, LostError, Reply
from soak_ledger import Ledger
from soak_traffic import Traffic

from topos.bundle import Bundle
from topos.bundle.replacement import replacing

__all__ = ["Disturbance"]

RECOVERY_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1
LONGEST_WAIT: Final = 0.1


class Disturbance:
    """Disturbs one server: `others` are by model the bundles that replace the one it serves."""

    def __init__(
        self,
        server: ServerProcess,
        served: Mapping[str, Path],
        others: Mapping[str, Sequence[Bundle]],
        headers: Mapping[str, str],
        traffic: Traffic,
        ledger: Ledger,
        seed: int,
    ) -> None:
        self._server, self._served, self._others = server, served, others
        self._headers, self._traffic, self._ledger = headers, traffic, ledger
        self._drawn = random.Random(f"{seed} disturbance")

    async def run(self, seconds: float, pause: float) -> None:
        """Disturbs in turn for so many seconds, and ends with everything in order again."""
        end = time.monotonic() + seconds
        in_turn = itertools.cycle((self.reload, self.kill, self.damage, self.reload_and_kill))
        while (left := end - time.monotonic()) > 0.0:
            await asyncio.sleep(min(pause, left))
            if left > pause:
                await next(in_turn)()

    async def reload(self) -> None:
        """Puts another version in the place of a model's bundle, and has it loaded."""
        model, version = self._replaced()
        reply = await self._load(model)
        if reply is None or reply.status != 200 or version.encode() not in reply.body:
            self._ledger.fault("reload", f"{model} was to become {version}, got {reply}")
            return
        self._ledger.count("reloads")

    async def damage(self) -> None:
        """Damages the bundle of a model in place, has it refused, and puts it right again."""
        model = self._model()
        path = self._served[model]
        before = await self._version(model)
        kind = self._drawn.choice(sorted(DAMAGES))
        name = self._drawn.choice([each.name for each in path.iterdir() if each.suffix != ".json"])
        file = path / ("manifest.json" if kind == "without a manifest" else name)
        whole = file.read_bytes()
        try:
            DAMAGES[kind](file, whole)
            reply = await self._load(model)
        finally:
            file.write_bytes(whole)
        told = f"{model}, {file.name} {kind}"
        if reply is None or not 400 <= reply.status < 500 or b"load: " not in reply.body:
            self._ledger.fault("damaged bundle", f"{told}: a refusal was due, got {reply}")
            return
        if await self._version(model) != before:
            self._ledger.fault("damaged bundle", f"{told}: {before} does not serve any more")
        self._ledger.count("damaged bundles refused")

    async def kill(self) -> None:
        """Kills a worker that has much to do, and waits for another."""
        workers = self._server.workers()
        victim = self._drawn.choice(workers)
        burst = asyncio.ensure_future(self._traffic.burst(self._drawn))
        await asyncio.sleep(self._drawn.uniform(0.0, LONGEST_WAIT))
        os.kill(victim, signal.SIGKILL)
        self._ledger.count("workers killed")
        await self._recovered(victim)
        await burst

    async def reload_and_kill(self) -> None:
        """Kills a worker while a reload is under way."""
        workers = self._server.workers()
        loading = asyncio.ensure_future(self.reload())
        await asyncio.sleep(self._drawn.uniform(0.0, 1.0))
        victim = self._drawn.choice(workers)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            # The reload was the quicker one.
            victim = 0
        else:
            self._ledger.count("workers killed")
        await loading
        await self._recovered(victim)

    async def _recovered(self, victim: int) -> None:
        """Waits until every model has a worker and none has two, as after a reload."""
        count = len(self._served)
        end = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < end:
            workers = self._server.workers()
            if victim not in workers and len(workers) == count and await self._ready():
                return
            await asyncio.sleep(POLL_SECONDS)
        self._ledger.fault("recovery", f"a worker was killed, and {RECOVERY_SECONDS:g} s are over")

    async def _ready(self) -> bool:
        reply = await self._asked("GET", "/v2/health/ready")
        return reply is not None and reply.status == 200

    async def _version(self, model: str) -> str:
        reply = await self._asked("GET", f"/v2/models/{model}")
        found: dict[str, Any] = json.loads(reply.body) if reply is not None else {}
        return "".join(found.get("versions", []))

    async def _load(self, model: str) -> Reply | None:
        return await self._asked("POST", f"/v2/repository/models/{model}/load")

    async def _asked(self, method: str, path: str) -> Reply | None:
        try:
            connection = await Connection.open(self._server.port)
            try:
                return await connection.ask(message(path, self._headers, b"", method=method))
            finally:
                await connection.close()
        except (LostError, OSError):
            return None

    def _model(self) -> str:
        return self._drawn.choice(sorted(self._served))

    def _replaced(self) -> tuple[str, str]:
        """Returns the model whose bundle was replaced, and by which version."""
        model = self._model()
        served = Bundle.load(self._served[model]).version
        others = [each for each in self._others[model] if each.version != served]
        chosen = self._drawn.choice(others)
        with replacing(self._served[model]) as folder:
            shutil.copytree(chosen.path, folder, dirs_exist_ok=True)
        return model, chosen.version


def _flipped(file: Path, whole: bytes) -> None:
    place = len(whole) // 2
    file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])


DAMAGES: Final[dict[str, Callable[[Path, bytes], object]]] = {
    "cut": lambda file, whole: file.write_bytes(whole[: len(whole) // 2]),
    "flipped": _flipped,
    "longer": lambda file, whole: file.write_bytes(whole + b"x"),
    "missing": lambda file, whole: file.unlink(),
    "without a manifest": lambda file, whole: file.unlink(),
}
