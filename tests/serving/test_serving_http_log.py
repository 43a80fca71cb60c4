"""The access log: a stream that is slow or broken holds no request up."""

from __future__ import annotations

import asyncio
import threading
from io import BytesIO
from typing import Any

from tests.serving.serving_http import SECONDS
from topos.serving.http.access_log import AccessLog
from topos.serving.http.exchange import Exchange


class FullPipe(BytesIO):
    """A stream that takes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = threading.Event(), threading.Event()

    def write(self, data: Any) -> int:
        self.asked.set()
        assert self.let.wait(SECONDS)
        return super().write(data)


def test_a_log_that_does_not_keep_up_holds_nobody_up() -> None:
    stream = FullPipe()
    log = AccessLog(stream)
    for number in range(2):
        log.record(Exchange("GET", b"%d" % number, {}), 200, 0, 0.0)
        assert stream.asked.wait(SECONDS)
    stream.let.set()
    log.flush()
    assert stream.getvalue().count(b"request_id") == 2


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
