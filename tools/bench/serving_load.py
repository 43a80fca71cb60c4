"""Clients in a process of their own: as many as asked, each sending its next request at once.

The requests are made beforehand and the answers read by hand, so that the clients take little of
the machine that they share with the server. Every answer is held against the oracle's. Used as a
command, it reads one load as JSON on each line of standard input, and prints its figures.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from serving_wire import Truths, Wire, body_of, message, read_answer

from topos.bundle import Bundle

__all__ = ["INFER", "Clients", "Figures", "Load"]

INFER: Final = "/v2/models/{}/infer"
HERE: Final = "127.0.0.1"
WARMING_SECONDS: Final = 0.3
END: Final = b"\r\n\r\n"
LENGTH: Final = b"content-length: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many clients for so many seconds, each request of so many rows, to a path."""

    clients: int = 64
    seconds: float
    path: str = INFER.format("digits")
    wire: str = "json"
    rows: int = 1


class Figures(NamedTuple):
    """What came of a load: requests a second, percentiles in seconds, and what was wrong.

    `answers` are those that came before the clients were measured, too.
    """

    rate: float
    p50: float
    p99: float
    answers: int
    wrong: int
    first: str


class Clients:
    """The process with the clients; leaving the context ends it."""

    def __init__(self, bundle: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(bundle)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            process.kill()

    def run(self, port: int, load: Load) -> Figures:
        """Returns what came of a load; raises `RuntimeError` where an answer was wrong."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([port, asdict(load)]), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the clients have ended")
        figures = Figures(**json.loads(line))
        if figures.wrong:
            raise RuntimeError(f"{figures.wrong} of {figures.answers} answers: {figures.first}")
        return figures


class Round:
    """One load as it runs: the requests, what is known to be right, and what was measured."""

    def __init__(self, truths: Truths, load: Load) -> None:
        self.truths, self.rows = truths, load.rows
        wire = Wire(load.wire)
        self.chosen = [
            [(start + row) % len(truths) for row in range(load.rows)]
            for start in range(len(truths))
        ]
        self.requests = [
            message(load.path, *body_of(truths.feeds(rows), wire)) for rows in self.chosen
        ]
        self.right: set[tuple[int, bytes]] = set()
        self.durations: list[float] = []
        self.wrong: list[str] = []
        self.over = False

    def judge(self, place: int, head: bytes, body: bytes) -> None:
        """Holds an answer against the oracle's; bytes that were right once are right again."""
        if (place, body) in self.right:
            return
        fault = self._fault(place, head, body)
        if fault:
            self.wrong.append(fault)
        else:
            self.right.add((place, body))

    def _fault(self, place: int, head: bytes, body: bytes) -> str:
        if not head.startswith(b"HTTP/1.1 200"):
            return f"{head[:40]!r} {body[:200]!r}"
        lines = head.decode().split("\r\n")[1:]
        headers = dict(line.lower().split(": ", 1) for line in lines)
        try:
            return self.truths.fault(self.chosen[place], read_answer(headers, body).results)
        except ValueError as error:
            return str(error)


class Client(asyncio.Protocol):
    """One connection that sends its next request as soon as it has the answer."""

    def __init__(self, round_: Round, place: int) -> None:
        self._round, self._place = round_, place
        self._received = b""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Sends the first request."""
        self._transport = transport
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends; a connection that is lost before the end is a wrong answer."""
        if not self.ended.done():
            self._round.wrong.append(f"the connection was lost: {exc}")
            self.ended.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Takes a part of an answer, and sends the next request once it is whole."""
        self._received += data
        head = self._received.find(END)
        if head < 0:
            return
        start = self._received.index(LENGTH) + len(LENGTH)
        length = int(self._received[start : self._received.index(b"\r", start)])
        if len(self._received) < head + len(END) + length:
            return
        self._round.durations.append(time.perf_counter() - self._began)
        received, self._received = self._received, b""
        self._round.judge(self._place, received[:head], received[head + len(END) :])
        if self._round.over:
            self.ended.set_result(None)
            self._transport.close()
        else:
            self._send()

    def _send(self) -> None:
        self._place = (self._place + 1) % len(self._round.requests)
        self._began = time.perf_counter()
        self._transport.write(self._round.requests[self._place])


async def measured(truths: Truths, port: int, load: Load) -> Figures:
    """Returns what came of a load, after a moment of it that does not count."""
    loop, round_ = asyncio.get_running_loop(), Round(truths, load)
    clients = []
    for number in range(load.clients):
        place = number * 7 % len(truths)
        made = await loop.create_connection(partial(Client, round_, place), HERE, port)
        clients.append(made[1])
    await asyncio.sleep(WARMING_SECONDS)
    before, began = len(round_.durations), time.perf_counter()
    await asyncio.sleep(load.seconds)
    count, seconds = len(round_.durations) - before, time.perf_counter() - began
    round_.over = True
    await asyncio.gather(*(client.ended for client in clients))
    if not count:
        raise RuntimeError(f"nothing was answered: {round_.wrong[:1]}")
    half, late = np.percentile(round_.durations[before : before + count], [50, 99])
    wrong, first = len(round_.wrong), next(iter(round_.wrong), "")
    answers = len(round_.durations)
    return Figures(count / seconds, float(half), float(late), answers, wrong, first)


def main() -> None:
    """Runs a load for each line."""
    truths = Truths.of(Bundle.load(sys.argv[1]))
    factory = None
    with suppress(ModuleNotFoundError):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        for line in sys.stdin:
            port, load = json.loads(line)
            figures = runner.run(measured(truths, port, Load(**load)))
            print(json.dumps(figures._asdict()), flush=True)


if __name__ == "__main__":
    main()
