"""Clients of a soak: requests whose answers are judged, and everything that no client should do.

Lost is a well-formed request that got no answer, one that no such request should get, or refusals
without end. A refusal is none only where it says when to come again, or where the request itself
was short of time.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from serving_wire import Truths, Wire, body_of, message, read_answer
from soak_malformed import INFER, Malformed, listed, mutated

__all__ = ["Asked", "Clients", "LostError", "Reply", "asked_once"]

ANSWER_SECONDS: Final = 60.0
PATIENCE_SECONDS: Final = 60.0
LONGEST_PAUSE: Final = 2.0
SLOW_SECONDS: Final = 1.5
STEP_SECONDS: Final = 0.2
PARTS: Final = 8
ROWS: Final = (1, 1, 1, 2, 3, 8, 17, 64, 100)
BURST: Final = 96
SHORT_OF_TIME: Final = 0.05
SHORT_DEADLINE: Final = "0.004"
SHOWN: Final = 20
# SO_LINGER's on and seconds: closing then resets the connection, as a client does that dies.
RESET: Final = struct.pack("ii", 1, 0)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Manner = Callable[[Streams, bytes], Awaitable[None]]


class LostError(Exception):
    """A connection that ended, or fell silent, without a whole answer."""


class Reply(NamedTuple):
    """A whole answer; names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Asked(NamedTuple):
    """One well-formed request; `short` of time, it may be refused for that."""

    model: str
    rows: tuple[int, ...]
    short: bool
    message: bytes


async def sent(streams: Streams, data: bytes) -> None:
    """Sends bytes; a server may answer and close before it was sent everything."""
    if not streams[1].is_closing():
        streams[1].write(data)
        try:
            await streams[1].drain()
        except OSError:
            return


async def replied(streams: Streams) -> Reply:
    """Returns the next answer; raises `LostError` where there is none in time."""
    reader, _ = streams
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.rstrip().split("\r\n")
            pairs = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
    except (TimeoutError, asyncio.IncompleteReadError, OSError) as error:
        raise LostError(f"no whole answer: {error!r}") from None
    return Reply(int(first.split()[1]), headers, body)


async def asked_once(port: int, data: bytes) -> Reply:
    """Returns the answer to a request on a connection of its own; raises `LostError`."""
    try:
        streams = await asyncio.open_connection("127.0.0.1", port)
    except OSError as error:
        raise LostError(f"no connection: {error}") from None
    try:
        await sent(streams, data)
        return await replied(streams)
    finally:
        streams[1].close()


class Clients:
    """Clients of one server, and what they count; a fault is told at once.

    `known` has by model the truths of each version by its name; `limit` and `body_seconds` are
    what the server allows a body.
    """

    def __init__(
        self,
        port: int,
        known: Mapping[str, Mapping[str, Truths]],
        headers: Mapping[str, str],
        seed: int,
        limit: int = 2**20,
        body_seconds: float = 3.0,
    ) -> None:
        self.port, self.known, self.headers, self.seed = port, known, dict(headers), seed
        self.limit, self.body_seconds = limit, body_seconds
        self.counts: Counter[str] = Counter()
        self.durations: list[float] = []
        self.faults: list[str] = []
        self.began = time.monotonic()
        self.draining = self.over = False

    def random(self, what: str) -> random.Random:
        """Returns a source of random numbers for one purpose."""
        return random.Random(f"{self.seed} {what}")

    def fault(self, what: str, detail: str) -> None:
        """Takes a fault with when it happened."""
        self.counts[f"FAULT: {what}"] += 1
        self.faults.append(f"{time.monotonic() - self.began:7.1f} s  {what}: {detail}")
        if len(self.faults) <= SHOWN:
            print(self.faults[-1], flush=True)

    async def client(self, number: int, pause: float) -> None:
        """Asks one thing after another on a connection that is kept."""
        source, streams = self.random(f"client {number}"), None
        while not self.over:
            asked = self.drawn(source, source.random() < SHORT_OF_TIME)
            streams = await self.answered(asked, streams)
            await asyncio.sleep(source.expovariate(1.0 / pause))
        if streams is not None:
            streams[1].close()

    async def bursts(self, pause: float) -> None:
        """Has a burst now and then."""
        while not self.over:
            await asyncio.sleep(pause)
            await self.burst(self.random(f"burst {self.counts.total()}"))

    async def burst(self, source: random.Random) -> None:
        """Asks from more connections at once than the queue has room for."""
        await asyncio.gather(*(self.once(self.drawn(source)) for _ in range(BURST)))

    async def slow(self, pause: float) -> None:
        """Sends heads and bodies that never end, and slow requests that are to be answered."""
        source = self.random("slow")
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        body = f"POST {INFER} HTTP/1.1\r\nhost: a\r\n{lines}content-length: 1000\r\n\r\n"
        while not self.over:
            await asyncio.gather(
                self._endless(b"POST /v2 HTTP/1.1\r\nhost: ", "headers"),
                self._endless(body.encode(), "body"),
                self.once(self.drawn(source), self._in_parts),
                self.once(self.drawn(source), _read_late),
            )
            await asyncio.sleep(pause)

    async def malformed(self, pause: float) -> None:
        """Sends the list over and over, each followed by mutations."""
        source = self.random("malformed")
        for case in itertools.cycle(listed(self.headers, self.limit)):
            for each in (case, *(mutated(self.headers, source) for _ in range(2))):
                if self.over:
                    return
                await self._refused(each)
            await asyncio.sleep(pause)

    async def broken_off(self, pause: float) -> None:
        """Leaves in the middle of a head, of a body, and before the answer."""
        source = self.random("broken off")
        while not self.over:
            data = self.drawn(source).message
            try:
                streams = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError as error:
                self._lost(error)
                return
            await sent(
                streams, data[: int(source.choice((1.0, source.random(), 0.01)) * len(data))]
            )
            await asyncio.sleep(source.choice((0.0, 0.001, 0.01)))
            if source.random() < 0.5 and not streams[1].is_closing():
                connection = streams[1].get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                streams[1].transport.abort()
            streams[1].close()
            self.counts["broken off"] += 1
            await asyncio.sleep(pause)

    def drawn(self, source: random.Random, short: bool = False) -> Asked:
        """Returns a request for a model and rows drawn from `source`."""
        model = source.choice(sorted(self.known))
        truths = next(iter(self.known[model].values()))
        rows = tuple(source.randrange(len(truths)) for _ in range(source.choice(ROWS)))
        feeds = truths.feeds(rows)
        wire = source.choice([each for each in Wire if each is not Wire.RAW or len(feeds) == 1])
        headers, body = body_of(feeds, wire)
        headers |= self.headers | ({"x-request-timeout": SHORT_DEADLINE} if short else {})
        return Asked(model, rows, short, message(f"/v2/models/{model}/infer", headers, body))

    async def once(self, asked: Asked, manner: Manner = sent) -> None:
        """Asks on a connection of its own."""
        streams = await self.answered(asked, None, manner)
        if streams is not None:
            streams[1].close()

    async def answered(
        self, asked: Asked, streams: Streams | None = None, manner: Manner = sent
    ) -> Streams | None:
        """Asks until there is an answer, judges it, and returns the connection."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            began, draining = time.monotonic(), False
            try:
                streams = streams or await asyncio.open_connection("127.0.0.1", self.port)
                # What is sent before the signal is owed an answer, what is sent after it none.
                draining = self.draining
                await manner(streams, asked.message)
                reply = await replied(streams)
            except (LostError, OSError) as error:
                self._lost(error, draining)
                return None
            again = self.judged(asked, reply, draining)
            if again is None:
                self.durations.append(time.monotonic() - began)
                return streams
            if time.monotonic() > end:
                self.fault("lost", f"{asked.model} refused for {PATIENCE_SECONDS:g} s")
                return streams
            await asyncio.sleep(again)

    def judged(self, asked: Asked, reply: Reply, draining: bool = False) -> float | None:
        """Counts an answer; returns in how many seconds to ask again where it was a refusal."""
        told = ""
        if reply.status == 200:
            told = self._right(asked, reply)
        elif reply.status == 504 and asked.short:
            told = "short of time: 504"
        elif reply.status in (429, 503) and "retry-after" in reply.headers:
            self.counts[f"refused, to come again: {reply.status}"] += 1
            return min(float(reply.headers["retry-after"]), LONGEST_PAUSE)
        elif reply.status == 503 and (draining or self.draining):
            told = "refused while draining: 503"
        else:
            self.fault("lost", f"{asked.model}: {reply.status} {reply.body[:200]!r}")
        if told:
            self.counts[told] += 1
        return None

    def _right(self, asked: Asked, reply: Reply) -> str:
        """Returns how right an answer is; one that is not is a fault."""
        known = self.known[asked.model]
        try:
            answer = read_answer(reply.headers, reply.body)
            truths = known[answer.version]
        except (ValueError, KeyError) as error:
            self.fault("wrong answer", f"{asked.model}: {error!r}")
            return ""
        if fault := truths.fault(asked.rows, answer.results):
            whose = [name for name in known if not known[name].fault(asked.rows, answer.results)]
            told = f"version {answer.version} of {asked.model}: {fault}"
            self.fault("wrong answer", f"{told}; it is that of {whose or 'none'}")
            return ""
        same = truths.same_bits(asked.rows, answer.results)
        return f"right: {'to the bit' if same else 'within the envelope'}"

    def _lost(self, error: Exception, draining: bool = False) -> None:
        # A server that ends closes connections that wait for nothing, and may cross a request.
        if draining or (self.draining and isinstance(error, OSError)):
            self.counts["not taken while draining"] += 1
        else:
            self.fault("lost", str(error))

    async def _refused(self, case: Malformed) -> None:
        try:
            reply = await asked_once(self.port, case.message)
        except LostError as error:
            if not self.draining:
                self.fault("no answer", f"{case.name}: {error}")
            return
        if self.draining and reply.status == 503:
            return
        if case.name == "mutated" and reply.status == 200 and _is_json(case.message):
            self.counts["mutated: well formed"] += 1
        elif found := case.fault(reply.status, reply.body):
            shown = f" {case.message[-600:]!r}" if case.name == "mutated" else ""
            self.fault("wrong refusal", f"{case.name}: {found}{shown}")
        else:
            self.counts[f"refused: {reply.status}"] += 1

    async def _endless(self, start: bytes, field: str) -> None:
        """Sends a byte now and then until it is told that it took too long."""
        try:
            streams = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError as error:
            self._lost(error)
            return
        await sent(streams, start)
        answer = asyncio.ensure_future(replied(streams))
        while not answer.done():
            await sent(streams, b"a")
            await asyncio.wait([answer], timeout=STEP_SECONDS)
        streams[1].close()
        lost = answer.exception()
        if self.draining:
            return
        if lost is not None:
            self.fault("no answer", f"endless {field}: {lost}")
            return
        case = Malformed(f"endless {field}", b"", f"{field}: ", 408)
        if found := case.fault(answer.result().status, answer.result().body):
            self.fault("wrong refusal", f"{case.name}: {found}")
        self.counts[f"{case.name}: {answer.result().status}"] += 1

    async def _in_parts(self, streams: Streams, data: bytes) -> None:
        """Sends a request slowly, within the time that a body may take."""
        size = -(-len(data) // PARTS)
        for start in range(0, len(data), size):
            await sent(streams, data[start : start + size])
            await asyncio.sleep(min(SLOW_SECONDS, self.body_seconds / 2) / PARTS)


async def _read_late(streams: Streams, data: bytes) -> None:
    """Sends a request, and leaves its answer lying for a while."""
    await sent(streams, data)
    await asyncio.sleep(SLOW_SECONDS)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data.partition(b"\r\n\r\n")[2])
    except ValueError:
        return False
    return True
