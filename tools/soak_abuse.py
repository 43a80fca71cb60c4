"""Clients that do what they should not: malformed, slow and broken off requests."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Callable, Mapping
from typing import Final

from soak_http import Connection, LostError
from soak_ledger import Ledger
from soak_malformed import INFER, listed, mutated
from soak_traffic import Traffic

__all__ = ["Abuse"]

STEP_SECONDS: Final = 0.2
SLOW_SECONDS: Final = 1.5
PARTS: Final = 8
LATE: Final = 408


class Abuse:
    """Clients of one server; `body_seconds` and `limit` are what it allows a body."""

    def __init__(
        self,
        port: int,
        headers: Mapping[str, str],
        ledger: Ledger,
        seed: int,
        body_seconds: float,
        limit: int,
    ) -> None:
        self._port, self._headers, self._ledger, self._seed = port, dict(headers), ledger, seed
        self._body_seconds, self._limit = body_seconds, limit

    async def malformed(self, traffic: Traffic, pause: float) -> None:
        """Sends the list over and over, each followed by mutations."""
        drawn = random.Random(f"{self._seed} malformed")
        cases = listed(self._headers, self._limit)
        for case in itertools.cycle(cases):
            for each in (case, mutated(self._headers, drawn), mutated(self._headers, drawn)):
                if traffic.over:
                    return
                await self._judged(each.name, each.message, each.fault)
            await asyncio.sleep(pause)

    async def slow(self, traffic: Traffic) -> None:
        """Sends heads and bodies that never end, and slow requests that are to be answered."""
        drawn = random.Random(f"{self._seed} slow")
        while not traffic.over:
            await asyncio.gather(
                self._endless(b"POST /v2 HTTP/1.1\r\nhost: ", "headers"),
                self._endless(self._head(), "body"),
                traffic.once(traffic.drawn(drawn), self._in_parts),
                traffic.once(traffic.drawn(drawn), _read_late),
            )

    async def broken_off(self, traffic: Traffic, pause: float) -> None:
        """Leaves in the middle of a head, of a body, and before the answer."""
        drawn = random.Random(f"{self._seed} broken off")
        while not traffic.over:
            asked = traffic.drawn(drawn)
            connection = await self._connection()
            if connection is None:
                return
            part = drawn.choice((1.0, 1.0, drawn.random(), 0.01))
            await connection.send(asked.message[: int(part * len(asked.message))])
            await asyncio.sleep(drawn.choice((0.0, 0.001, 0.01)))
            if drawn.random() < 0.5:
                connection.reset()
            else:
                await connection.close()
            self._ledger.count("broken off")
            await asyncio.sleep(pause)

    def _head(self) -> bytes:
        lines = "".join(f"{name}: {value}\r\n" for name, value in self._headers.items())
        head = f"POST {INFER} HTTP/1.1\r\nhost: a\r\n{lines}content-length: 1000\r\n\r\n"
        return head.encode()

    async def _connection(self) -> Connection | None:
        try:
            return await Connection.open(self._port)
        except OSError as error:
            if not self._ledger.draining:
                self._ledger.fault("no connection", str(error))
            return None

    async def _judged(self, name: str, message: bytes, fault: Callable[[int, bytes], str]) -> None:
        connection = await self._connection()
        if connection is None:
            return
        try:
            reply = await connection.ask(message)
        except LostError as error:
            if not self._ledger.draining:
                self._ledger.fault("no answer", f"{name}: {error}")
            return
        finally:
            await connection.close()
        if self._ledger.draining and reply.status == 503:
            return
        if name == "mutated" and reply.status == 200 and _is_json(message):
            self._ledger.count("mutated: well formed")
            return
        found = fault(reply.status, reply.body)
        if found:
            shown = f" {message[-600:]!r}" if name == "mutated" else ""
            self._ledger.fault("wrong refusal", f"{name}: {found}{shown}")
        else:
            self._ledger.count(f"refused: {reply.status}")

    async def _endless(self, start: bytes, field: str) -> None:
        """Sends a byte now and then until it is told that it took too long."""
        connection = await self._connection()
        if connection is None:
            return
        await connection.send(start)
        answer = asyncio.ensure_future(connection.reply())
        while not answer.done():
            await connection.send(b"a")
            await asyncio.wait([answer], timeout=STEP_SECONDS)
        await connection.close()
        if self._ledger.draining:
            answer.exception()
            return
        try:
            reply = await answer
        except LostError as error:
            self._ledger.fault("no answer", f"endless {field}: {error}")
            return
        if reply.status != LATE or not _error(reply.body).startswith(f"{field}: "):
            self._ledger.fault("wrong refusal", f"endless {field}: {reply}")
        self._ledger.count(f"endless {field}: {reply.status}")

    async def _in_parts(self, connection: Connection, message: bytes) -> None:
        """Sends a request slowly, within the time that a body may take."""
        size = -(-len(message) // PARTS)
        for start in range(0, len(message), size):
            await connection.send(message[start : start + size])
            await asyncio.sleep(min(SLOW_SECONDS, self._body_seconds / 2) / PARTS)


async def _read_late(connection: Connection, message: bytes) -> None:
    """Sends a request, and leaves its answer lying for a while."""
    await connection.send(message)
    await asyncio.sleep(SLOW_SECONDS)


def _is_json(message: bytes) -> bool:
    try:
        json.loads(message.partition(b"\r\n\r\n")[2])
    except ValueError:
        return False
    return True


def _error(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return ""
