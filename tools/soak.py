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
import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent / "bench"))

import serving_bundles as bundles
from serving_process import ServerProcess, serving, topos_serve
from serving_truths import Truths
from soak_abuse import Abuse
from soak_disturbance import Disturbance
from soak_ledger import Ledger
from soak_memory import Samples
from soak_traffic import Traffic

from topos.bundle import Bundle

EPILOG: Final = """\
exit status: 0 no fault; 1 faults, each told as it was found; 2 wrong usage, or no server.
"""
TOKEN: Final = "soak"
LIMIT: Final = 2**20
BODY_SECONDS: Final = 3.0
QUEUE: Final = 48
LATE_SECONDS: Final = 180.0
TOLD_SECONDS: Final = 10.0
DRAIN_SECONDS: Final = 30.0
# How long the last burst has had when the end comes.
TAKEN_SECONDS: Final = 0.05
MOST_GROWTH: Final = 0.05
VERSIONS: Final = 2
MODELS: Final[dict[str, Callable[[Path, int], Bundle]]] = {
    "digits": bundles.digits,
    "pair": bundles.pair,
}


class Stage(NamedTuple):
    """A server with its models, and everyone who works on it."""

    server: ServerProcess
    traffic: Traffic
    abuse: Abuse
    disturbance: Disturbance
    samples: Samples
    ledger: Ledger


def main() -> int:
    """Soaks a server, prints what was counted, and returns the exit status."""
    chosen = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ledger = Ledger()
    with tempfile.TemporaryDirectory() as folder:
        try:
            stage = soaked(chosen, Path(folder), ledger)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 2
    return told(chosen, stage)


def options() -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, help="default: %(default)g")
    add("--clients", type=int, default=8, help="that ask in turn; default: %(default)s")
    add("--pause", type=float, default=0.02, help="of a client, seconds; default: %(default)s")
    add("--seed", type=int, default=0, help="of everything drawn; default: %(default)s")
    add("--runtime", default="xla", help="default: %(default)s")
    add("--picture", type=Path, metavar="FILE", help="draw the memory")
    chosen = parser.parse_args()
    if not 0.1 <= chosen.minutes <= 1440 or not 1 <= chosen.clients <= 256 or chosen.pause <= 0:
        parser.error("needs 0.1 to 1440 minutes, 1 to 256 clients, and a pause above zero")
    return chosen


def soaked(chosen: argparse.Namespace, folder: Path, ledger: Ledger) -> Stage:
    """Returns the stage after the soak; nothing of it runs any more."""
    copies = {
        model: [make(folder / f"{model} {seed}", seed) for seed in range(VERSIONS)]
        for model, make in MODELS.items()
    }
    served = {model: make(folder / model, 0).path for model, make in MODELS.items()}
    with serving(command(chosen, folder, served), folder) as server, watchdog(chosen, server):
        headers = {"authorization": f"Bearer {TOKEN}"}
        known = {
            model: {each.version: Truths.of(each) for each in versions}
            for model, versions in copies.items()
        }
        traffic = Traffic(server.port, known, headers, ledger, chosen.seed)
        stage = Stage(
            server,
            traffic,
            Abuse(server.port, headers, ledger, chosen.seed, BODY_SECONDS, LIMIT),
            Disturbance(server, served, copies, headers, traffic, ledger, chosen.seed),
            Samples(server, len(served)),
            ledger,
        )
        asyncio.run(worn(chosen, stage))
        return stage


def command(chosen: argparse.Namespace, folder: Path, served: dict[str, Path]) -> list[str]:
    """Returns the command of the server, whose limits are narrow enough to be met."""
    token = folder / "token"
    token.write_text(TOKEN)
    limits = {
        "--max-body": LIMIT,
        "--max-rows": 256,
        "--body-time": BODY_SECONDS,
        "--queue": QUEUE,
        "--drain": DRAIN_SECONDS,
        "--token-file": token,
        "--access-log": folder / "access.log",
        "--runtime": chosen.runtime,
    }
    flags = [text for name, value in limits.items() for text in (name, str(value))]
    return topos_serve(*map(str, served.values()), *flags)


@contextlib.contextmanager
def watchdog(chosen: argparse.Namespace, server: ServerProcess) -> Iterator[None]:
    """Ends everything where the soak itself hangs."""

    def bite() -> None:
        print("the soak hangs, and is ended", file=sys.stderr, flush=True)
        server.kill()
        os._exit(1)

    timer = threading.Timer(chosen.minutes * 60 + LATE_SECONDS, bite)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


async def worn(chosen: argparse.Namespace, stage: Stage) -> None:
    """Lets everyone work for the time that was asked for, then ends the server under load."""
    seconds = chosen.minutes * 60
    disturbing = min(10.0, seconds / 12)
    traffic, abuse = stage.traffic, stage.abuse
    clients = [
        *(traffic.client(number, chosen.pause) for number in range(chosen.clients)),
        traffic.bursts(min(15.0, seconds / 8)),
        abuse.malformed(traffic, pause=0.05),
        abuse.broken_off(traffic, pause=0.1),
        abuse.slow(traffic),
    ]
    stage.ledger.began = time.monotonic()
    working = started(clients)
    around = started([stage.samples.sample(), progress(stage, seconds)])
    disturbance = asyncio.create_task(stage.disturbance.run(seconds, disturbing))
    try:
        # Only the disturbance ends by itself; a client that does has failed.
        await asyncio.wait([disturbance, *working, *around], return_when="FIRST_COMPLETED")
        for task in around:
            task.cancel()
        if disturbance.done():
            working += started([traffic.burst(random.Random(f"{chosen.seed} end"))])
            await asyncio.sleep(TAKEN_SECONDS)
            await drained(stage)
            await asyncio.wait(working, timeout=DRAIN_SECONDS)
    finally:
        for task in (disturbance, *working, *around):
            task.cancel()
    for outcome in await asyncio.gather(disturbance, *working, *around, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


def started(work: list[Coroutine[Any, Any, None]]) -> list[asyncio.Task[None]]:
    """Returns a task for each."""
    return [asyncio.create_task(each) for each in work]


async def drained(stage: Stage) -> None:
    """Ends the server while everyone goes on."""
    stage.ledger.draining = True
    began, workers = time.monotonic(), stage.server.workers()
    try:
        status = await asyncio.to_thread(stage.server.end)
    except Exception as error:
        stage.ledger.fault("end", f"SIGTERM did not end the server: {error}")
        return
    finally:
        stage.traffic.over = True
    print(f"SIGTERM ended the server within {time.monotonic() - began:.1f} s, status {status}")
    if status:
        stage.ledger.fault("end", f"the server ended with status {status}: {stage.server.said()}")
    for number in workers:
        if Path(f"/proc/{number}").exists():
            stage.ledger.fault("end", f"worker {number} is left")


async def progress(stage: Stage, seconds: float) -> None:
    """Tells now and then how it goes."""
    ledger = stage.ledger
    while True:
        await asyncio.sleep(TOLD_SECONDS)
        right = sum(count for what, count in ledger.counts.items() if what.startswith("right"))
        refused = sum(count for what, count in ledger.counts.items() if what.startswith("refused"))
        memory = f"{stage.samples.together[-1]:.0f} MB" if stage.samples.together else "-"
        print(
            f"{time.monotonic() - ledger.began:5.0f} of {seconds:.0f} s: {right:,} right, "
            f"{refused:,} refused, {ledger.counts['reloads']} reloads, "
            f"{ledger.counts['workers killed']} killed, {memory}, {len(ledger.faults)} faults",
            flush=True,
        )


def told(chosen: argparse.Namespace, stage: Stage) -> int:
    """Prints what was counted, and returns the exit status."""
    ledger, samples = stage.ledger, stage.samples
    warming = max(20.0, chosen.minutes * 60 / 5)
    together = samples.trend(samples.together, warming)
    if together.growth > MOST_GROWTH:
        ledger.fault("memory", f"{together}, at most {MOST_GROWTH:+.0%} is allowed")
    for what, count in sorted(ledger.counts.items()):
        print(f"  {what:<40} {count:>10,}")
    half, late = ledger.percentile(0.5), ledger.percentile(0.99)
    print(f"  {'well-formed: p50, p99':<40} {half * 1e3:.1f}, {late * 1e3:.1f} ms")
    print(f"  {'memory of server and workers':<40} {together}")
    print(f"  {'memory of the server':<40} {samples.trend(samples.server, warming)}")
    if chosen.picture is not None:
        samples.draw(chosen.picture)
    print(f"{len(ledger.faults)} faults, seed {chosen.seed}")
    return int(bool(ledger.faults))


if __name__ == "__main__":
    sys.exit(main())
