"""The access log: a stream that is slow or broken holds no request up."""

from __future__ import annotations

import asyncio
import time
from io import BytesIO
from typing import Any

from topos.serving.http.access_log import AccessLog
from topos.serving.http.exchange import Exchange


class SlowStream(BytesIO):
    """A file that takes a while, as a full pipe does."""

    def write(self, data: Any) -> int:
        time.sleep(0.3)
        return super().write(data)


def test_a_log_that_does_not_keep_up_holds_nobody_up() -> None:
    async def record() -> float:
        log = AccessLog(SlowStream())
        exchange = Exchange("GET", b"some", {})
        longest = 0.0
        for _ in range(40):
            start = time.monotonic()
            log.record(exchange, 200, 0, 0.0)
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - start)
        return longest

    assert asyncio.run(record()) < 0.25


def test_a_log_that_breaks_counts_what_it_lost() -> None:
    class Broken(BytesIO):
        def write(self, data: Any) -> int:
            raise OSError("no space left")

    async def record() -> int:
        log = AccessLog(Broken())
        log.record(Exchange("GET", b"some", {}), 200, 0, 0.0)
        log.flush()
        return log.lost

    assert asyncio.run(record()) == 1
