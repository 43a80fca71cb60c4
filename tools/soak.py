"""Wears a server out: mixed load, bad clients, bundles replaced and damaged, workers killed.

Starts `topos serve` on this machine alone with two models, each in a worker process, and ends it
with SIGTERM under load. A fault is a wrong answer, a well-formed request that is lost, a bad one
that is answered otherwise than by a refusal which names the field, a reload or a recovery that
fails, memory that grows by more than 5 %, or an end with requests unanswered or processes left.
The memory counted is what server and workers have written, from the warm-up on.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "bench"))

import serving_bundles as bundles
from serving_process import ServerProcess, memory, serving, topos_serve
from serving_wire import Truths, message
from soak_clients import Clients, LostError, Reply, asked_once

from topos.bundle import Bundle
from topos.bundle.replacement import replacing

EPILOG: Final = """\
exit status: 0 no fault; 1 faults, each told as it was found; 2 wrong usage, or no server.
"""
HEADERS: Final = {"authorization": "Bearer soak"}
LIMIT: Final = 2**20
BODY_SECONDS: Final = 6.0
LATE_SECONDS: Final = 180
TOLD_SECONDS: Final = 10.0
DRAIN_SECONDS: Final = 30.0
RECOVERY_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1
# How long the last burst has had when the end comes.
TAKEN_SECONDS: Final = 0.05
MOST_GROWTH: Final = 0.05
# A minute of them: a server that is still warming up grows for a while.
FEWEST_SAMPLES: Final = 60
MODELS: Final[Mapping[str, Callable[[Path, int], Bundle]]] = {
    "digits": bundles.digits,
    "pair": bundles.pair,
}
DAMAGES: Final[Mapping[str, Callable[[bytes], bytes | None]]] = {
    "cut": lambda whole: whole[: len(whole) // 2],
    "flipped": lambda whole: whole[:9] + bytes([whole[9] ^ 1]) + whole[10:],
    "longer": lambda whole: whole + b"x",
    "missing": lambda whole: None,
    "without a manifest": lambda whole: None,
}


class Soak:
    """A server whose bundles are replaced, whose workers are killed, and whose memory is measured.

    `served` are the places of its bundles, `others` the versions that may take them.
    """

    def __init__(
        self,
        server: ServerProcess,
        clients: Clients,
        served: Mapping[str, Path],
        others: Mapping[str, Sequence[Bundle]],
    ) -> None:
        self.server, self.clients, self.served, self.others = server, clients, served, others
        self._random = clients.random("disturbance")
        self.samples: list[tuple[float, float]] = []
        """Seconds since the load began, and the megabytes of server and workers."""

    async def run(self, seconds: float, count: int, pause: float) -> None:
        """Lets `count` clients and all others work, then ends the server under load."""
        clients = self.clients
        working = [
            *(clients.client(number, pause) for number in range(count)),
            clients.bursts(min(15.0, seconds / 8)),
            clients.malformed(0.05),
            clients.broken_off(0.1),
            clients.slow(0.0),
        ]
        clients.began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for each in working:
                group.create_task(each)
            around = [group.create_task(each) for each in (self.sample(), self.progress(seconds))]
            await self.disturb(seconds, min(10.0, seconds / 12))
            for task in around:
                task.cancel()
            group.create_task(clients.burst(clients.random("end")))
            await asyncio.sleep(TAKEN_SECONDS)
            await self.drained()

    async def disturb(self, seconds: float, pause: float) -> None:
        """Disturbs in turn for so many seconds, and ends with everything in order again."""
        end = time.monotonic() + seconds
        in_turn = itertools.cycle((self.reload, self.kill, self.damage, self.reload_and_kill))
        while (left := end - time.monotonic()) > 0.0:
            await asyncio.sleep(min(pause, left))
            if left > pause:
                await next(in_turn)()

    async def reload(self) -> None:
        """Puts another version in the place of a model's bundle, and has it loaded."""
        model = self._random.choice(sorted(self.served))
        path = self.served[model]
        served = Bundle.load(path).version
        chosen = self._random.choice(
            [each for each in self.others[model] if each.version != served]
        )
        with replacing(path) as folder:
            shutil.copytree(chosen.path, folder, dirs_exist_ok=True)
        reply = await self._asked("POST", f"/v2/repository/models/{model}/load")
        if reply is None or reply.status != 200 or chosen.version.encode() not in reply.body:
            self.clients.fault("reload", f"{model} was to become {chosen.version}, got {reply}")
        else:
            self.clients.counts["reloads"] += 1

    async def damage(self) -> None:
        """Damages the bundle of a model in place, has it refused, and puts it right again."""
        model = self._random.choice(sorted(self.served))
        path, before = self.served[model], await self._version(model)
        kind = self._random.choice(sorted(DAMAGES))
        names = sorted(each.name for each in path.iterdir() if each.suffix != ".json")
        name = self._random.choice(names)
        file = path / ("manifest.json" if kind == "without a manifest" else name)
        whole = file.read_bytes()
        damaged = DAMAGES[kind](whole)
        try:
            file.unlink() if damaged is None else file.write_bytes(damaged)
            reply = await self._asked("POST", f"/v2/repository/models/{model}/load")
        finally:
            file.write_bytes(whole)
        told = f"{model}, {file.name} {kind}"
        if reply is None or not 400 <= reply.status < 500 or b"load: " not in reply.body:
            self.clients.fault("damaged bundle", f"{told}: a refusal was due, got {reply}")
        elif await self._version(model) != before:
            self.clients.fault("damaged bundle", f"{told}: {before} does not serve any more")
        self.clients.counts["damaged bundles refused"] += 1

    async def kill(self) -> None:
        """Kills a worker that has much to do, and waits for another."""
        burst = asyncio.ensure_future(self.clients.burst(self._random))
        await self._killed(0.1)
        await burst

    async def reload_and_kill(self) -> None:
        """Kills a worker while a reload is under way."""
        loading = asyncio.ensure_future(self.reload())
        await self._killed(1.0, loading)

    async def _killed(self, longest: float, loading: asyncio.Future[None] | None = None) -> None:
        """Kills a worker within so many seconds; waits until every model has one, and no second."""
        victim = self._random.choice(self.server.workers())
        await asyncio.sleep(self._random.uniform(0.0, longest))
        try:
            os.kill(victim, signal.SIGKILL)
            self.clients.counts["workers killed"] += 1
        except ProcessLookupError:
            # The reload was the quicker one.
            victim = 0
        if loading is not None:
            await loading
        end = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < end:
            workers = self.server.workers()
            if victim not in workers and len(workers) == len(self.served):
                ready = await self._asked("GET", "/v2/health/ready")
                if ready is not None and ready.status == 200:
                    return
            await asyncio.sleep(POLL_SECONDS)
        self.clients.fault("recovery", f"a worker was killed {RECOVERY_SECONDS:g} s ago")

    async def _version(self, model: str) -> str:
        reply = await self._asked("GET", f"/v2/models/{model}")
        return "".join(json.loads(reply.body).get("versions", [])) if reply is not None else ""

    async def _asked(self, method: str, path: str) -> Reply | None:
        try:
            return await asked_once(self.server.port, message(path, HEADERS, b"", method=method))
        except LostError:
            return None

    async def drained(self) -> None:
        """Ends the server while everyone goes on."""
        clients, began, workers = self.clients, time.monotonic(), self.server.workers()
        clients.draining = True
        try:
            status = await asyncio.to_thread(self.server.end)
        except Exception as error:
            clients.fault("end", f"SIGTERM did not end the server: {error}")
            return
        finally:
            clients.over = True
        print(f"SIGTERM ended the server within {time.monotonic() - began:.1f} s, status {status}")
        if status:
            clients.fault("end", f"the server ended with status {status}: {self.server.said()}")
        for number in workers:
            if Path(f"/proc/{number}").exists():
                clients.fault("end", f"worker {number} is left")

    async def sample(self) -> None:
        """Samples what server and workers have written, once a second, while all workers run."""
        while True:
            await asyncio.sleep(1.0)
            processes = self.server.processes()
            written = memory(processes).written
            if len(processes) == len(self.served) + 1 == len(self.server.processes()):
                self.samples.append((time.monotonic() - self.clients.began, written))

    async def progress(self, seconds: float) -> None:
        """Tells now and then how it goes."""
        clients = self.clients
        while True:
            await asyncio.sleep(TOLD_SECONDS)
            right = sum(count for what, count in clients.counts.items() if "right" in what)
            print(
                f"{time.monotonic() - clients.began:5.0f} of {seconds:.0f} s: {right:,} right, "
                f"{clients.counts['reloads']} reloads, {clients.counts['workers killed']} killed, "
                f"{len(clients.faults)} faults",
                flush=True,
            )


def growth(samples: Sequence[tuple[float, float]], warming: float) -> float:
    """Returns the share by which the last third of samples is above the first, medians of both.

    Those of the first `warming` seconds are left out; zero where there are too few to tell.
    """
    counted = [figure for seconds, figure in samples if seconds >= warming]
    third = len(counted) // 3
    if len(counted) < FEWEST_SAMPLES:
        return 0.0
    return statistics.median(counted[-third:]) / statistics.median(counted[:third]) - 1.0


def soaked(chosen: argparse.Namespace, folder: Path) -> Soak:
    """Returns the soak once it is over; nothing of it runs any more."""
    copies = {
        model: [make(folder / f"{model} {seed}", seed) for seed in range(2)]
        for model, make in MODELS.items()
    }
    served = {model: make(folder / model, 0).path for model, make in MODELS.items()}
    (folder / "token").write_text("soak")
    # Narrow enough to be met.
    limits = {
        "--max-body": LIMIT,
        "--max-rows": 256,
        "--body-time": BODY_SECONDS,
        "--queue": 48,
        "--drain": DRAIN_SECONDS,
        "--token-file": folder / "token",
        "--access-log": folder / "access.log",
        "--runtime": chosen.runtime,
    }
    flags = [str(each) for pair in limits.items() for each in pair]
    with serving(topos_serve(*map(str, served.values()), *flags), folder) as server:
        known = {
            model: {each.version: Truths.of(each) for each in versions}
            for model, versions in copies.items()
        }
        clients = Clients(server.port, known, HEADERS, chosen.seed, LIMIT, BODY_SECONDS)
        soak = Soak(server, clients, served, copies)
        # Where the soak itself hangs, the system ends it, and the server with it.
        signal.alarm(int(chosen.minutes * 60) + LATE_SECONDS)
        asyncio.run(soak.run(chosen.minutes * 60, chosen.clients, chosen.pause))
        signal.alarm(0)
        return soak


def told(chosen: argparse.Namespace, soak: Soak) -> int:
    """Prints what was counted, and returns the exit status."""
    clients, grown = soak.clients, growth(soak.samples, max(20.0, chosen.minutes * 60 / 5))
    if grown > MOST_GROWTH:
        clients.fault("memory", f"{grown:+.1%}, at most {MOST_GROWTH:+.0%} is allowed")
    for what, count in sorted(clients.counts.items()):
        print(f"  {what:<40} {count:>10,}")
    half, late = np.quantile(clients.durations, (0.5, 0.99)) * 1e3
    print(f"  {'well-formed: p50, p99':<40} {half:.1f}, {late:.1f} ms")
    print(f"  {'memory of server and workers':<40} {grown:+.1%} of {len(soak.samples)} samples")
    print(f"{len(clients.faults)} faults, seed {chosen.seed}")
    return int(bool(clients.faults))


def main() -> int:
    """Soaks a server, prints what was counted, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, help="default: %(default)g")
    add("--clients", type=int, default=8, help="that ask in turn; default: %(default)s")
    add("--pause", type=float, default=0.02, help="of a client, seconds; default: %(default)s")
    add("--seed", type=int, default=0, help="of everything drawn; default: %(default)s")
    add("--runtime", default="xla", help="default: %(default)s")
    chosen = parser.parse_args()
    if not 0.1 <= chosen.minutes <= 1440 or not 1 <= chosen.clients <= 256 or chosen.pause <= 0:
        parser.error("needs 0.1 to 1440 minutes, 1 to 256 clients, and a pause above zero")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        try:
            return told(chosen, soaked(chosen, Path(folder)))
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
