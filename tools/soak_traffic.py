"""Well-formed requests of a soak: each is asked until it is answered, and each answer is judged.

Lost is a request that got no answer at all, an answer that no well-formed request should get, or
refusals without end. A refusal counts as none only where it says when to come again, and one for
lack of time only where the request itself was short of it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from serving_truths import Truths
from serving_wire import Wire, body_of, message, read_answer
from soak_http import Connection, LostError, Reply
from soak_ledger import Ledger

__all__ = ["Asked", "Traffic"]

ROWS: Final = (1, 1, 1, 2, 3, 8, 17, 64, 100)
PATIENCE_SECONDS: Final = 60.0
LONGEST_PAUSE: Final = 2.0
SHORT_OF_TIME: Final = 0.05
SHORT_DEADLINE: Final = "0.004"
REFUSALS: Final = (429, 503)
BURST: Final = 96
Manner = Callable[[Connection, bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One well-formed request."""

    model: str
    rows: tuple[int, ...]
    short: bool
    message: bytes


class Traffic:
    """Clients of the models in `known`: by model, the truths of each version by its name."""

    def __init__(
        self,
        port: int,
        known: Mapping[str, Mapping[str, Truths]],
        headers: Mapping[str, str],
        ledger: Ledger,
        seed: int,
    ) -> None:
        self._port, self._known, self._headers = port, known, dict(headers)
        self._ledger, self._seed = ledger, seed
        self.over = False

    async def client(self, number: int, pause: float) -> None:
        """Asks one thing after another on a connection that is kept, until it is all over."""
        drawn = random.Random(f"{self._seed} client {number}")
        connection: Connection | None = None
        while not self.over:
            asked = self.drawn(drawn, drawn.random() < SHORT_OF_TIME)
            connection = await self.answered(asked, connection)
            await asyncio.sleep(drawn.expovariate(1.0 / pause))
        if connection is not None:
            await connection.close()

    async def bursts(self, pause: float) -> None:
        """Has a burst now and then."""
        drawn = random.Random(f"{self._seed} bursts")
        while not self.over:
            await asyncio.sleep(pause)
            await self.burst(drawn)

    async def burst(self, source: random.Random) -> None:
        """Asks from more connections at once than the queue has room for."""
        await asyncio.gather(*(self.once(self.drawn(source)) for _ in range(BURST)))

    def drawn(self, source: random.Random, short: bool = False) -> Asked:
        """Returns a request for a model and rows drawn from `source`."""
        model = source.choice(sorted(self._known))
        truths = next(iter(self._known[model].values()))
        rows = tuple(source.randrange(len(truths)) for _ in range(source.choice(ROWS)))
        feeds = truths.feeds(rows)
        wire = source.choice([each for each in Wire if each is not Wire.RAW or len(feeds) == 1])
        headers, body = body_of(feeds, wire)
        headers |= self._headers
        if short:
            headers["x-request-timeout"] = SHORT_DEADLINE
        path = f"/v2/models/{model}/infer"
        return Asked(model, rows, short, message(path, headers, body))

    async def once(self, asked: Asked, manner: Manner = Connection.send) -> None:
        """Asks on a connection of its own."""
        connection = await self.answered(asked, None, manner)
        if connection is not None:
            await connection.close()

    async def answered(
        self, asked: Asked, connection: Connection | None, manner: Manner = Connection.send
    ) -> Connection | None:
        """Asks until there is an answer, judges it, and returns the connection if it still is.

        `manner` is how the message is sent.
        """
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            began, draining = time.monotonic(), False
            try:
                connection = connection or await Connection.open(self._port)
                # What is sent before the signal is owed an answer, what is sent after it none.
                draining = self._ledger.draining
                await manner(connection, asked.message)
                reply = await connection.reply()
            except (LostError, OSError) as error:
                self._lost(draining, error)
                return None
            again = self.judged(asked, reply, draining)
            if again is None:
                self._ledger.durations.append(time.monotonic() - began)
                return connection
            if time.monotonic() > end:
                self._ledger.fault("lost", f"{asked.model} refused for {PATIENCE_SECONDS:g} s")
                return connection
            await asyncio.sleep(again)

    def judged(self, asked: Asked, reply: Reply, draining: bool = False) -> float | None:
        """Counts an answer; returns in how many seconds to ask again where it was a refusal."""
        if reply.status == 200:
            self._judge(asked, reply)
            return None
        if reply.status == 504 and asked.short:
            self._ledger.count("short of time: 504")
            return None
        if reply.status in REFUSALS and "retry-after" in reply.headers:
            self._ledger.count(f"refused, to come again: {reply.status}")
            return min(float(reply.headers["retry-after"]), LONGEST_PAUSE)
        if reply.status == 503 and (draining or self._ledger.draining):
            self._ledger.count("refused while draining: 503")
            return None
        self._ledger.fault("lost", f"{asked.model}: {reply.status} {reply.body[:200]!r}")
        return None

    def _judge(self, asked: Asked, reply: Reply) -> None:
        try:
            answer = read_answer(reply.headers, reply.body)
        except ValueError as error:
            self._ledger.fault("wrong answer", f"{asked.model}: {error}")
            return
        truths = self._known[asked.model].get(answer.version)
        if truths is None:
            self._ledger.fault("wrong answer", f"{asked.model} has no version {answer.version!r}")
            return
        fault = truths.fault(asked.rows, answer.results)
        if fault:
            others = self._known[asked.model].items()
            whose = [name for name, each in others if not each.fault(asked.rows, answer.results)]
            told = f"version {answer.version} of {asked.model}: {fault}"
            self._ledger.fault("wrong answer", f"{told}; it is that of {whose or 'none'}")
            return
        same = truths.same_bits(asked.rows, answer.results)
        self._ledger.count(f"right: {'to the bit' if same else 'within the envelope'}")

    def _lost(self, draining: bool, error: Exception) -> None:
        # A server that ends closes connections that wait for nothing, and may cross a request.
        if draining or (self._ledger.draining and isinstance(error, OSError)):
            self._ledger.count("not taken while draining")
            return
        self._ledger.fault("lost", str(error))
