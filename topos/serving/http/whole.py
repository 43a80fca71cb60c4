"""Requests that arrive whole: small inferences, answered past uvicorn's cycle of a request.

A task, a scope, an event and the messages of ASGI take longer than all else on the way of a small
request. One that arrives in one piece needs none of them: its body is there before anything could
wait for it, and its answer is one write.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from topos.serving.http.replying import Headers, Reply, Turn, reply, write

__all__ = ["Take", "WholeProtocol"]

Take = Callable[[asyncio.AbstractEventLoop, str, Headers, bytes, Reply], bool]
"""Takes loop, path, headers and body of a POST that arrived whole, and what replies to it.

Returns whether it does; otherwise the request goes the way of all others.
"""

# Nothing in it is escaped, and nothing left out.
_PLAIN: Final = re.compile(rb"/v2/models/[\w.~/-]+/infer")


class WholeProtocol(HttpToolsProtocol):
    """Offers requests that arrive whole to `take`, and leaves all others to uvicorn.

    Whoever feeds the parser calls `begin_held` after each piece of what the client sends.
    """

    def __init__(
        self,
        take: Take,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._take = take
        # The body of a request that may arrive whole, and has no cycle of uvicorn's yet.
        self._held: bytes | None = None

    def on_headers_complete(self) -> None:
        """Holds a request back that may arrive whole, and begins any other."""
        if self._may_be_whole():
            self._held = b""
        else:
            self._begin()

    def on_body(self, body: bytes) -> None:
        """Takes a part of the body."""
        if self._held is None:
            super().on_body(body)
        else:
            self._held += body

    def on_message_complete(self) -> None:
        """Ends the body, and tells the application where it has not asked for it yet."""
        if self._held is not None and self._is_taken(self._held):
            self._held = None
            return
        self.begin_held()
        self.scope["topos.whole"] = True  # type: ignore[typeddict-unknown-key]  # A key of ours.
        super().on_message_complete()

    def begin_held(self) -> None:
        """Begins a request that was held back in case that it arrives whole, and did not."""
        if self._held is None:
            return
        body, self._held = self._held, None
        self._begin()
        super().on_body(body)

    def _may_be_whole(self) -> bool:
        """Returns whether the request may be one that `take` takes, with no other before it."""
        return (
            self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and _PLAIN.fullmatch(self.url) is not None
            and (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
        )

    def _is_taken(self, body: bytes) -> bool:
        turn = Turn(self)
        path = self.url.decode("ascii")
        if not self._take(self.loop, path, self.headers, body, partial(write, turn)):
            return False
        self.cycle = turn  # type: ignore[assignment]  # It is as good as one.
        return True

    def _begin(self) -> None:
        """Has uvicorn begin the request, with what answers it past the messages of ASGI."""
        super().on_headers_complete()
        self.scope["topos.reply"] = partial(reply, self.cycle)  # type: ignore[typeddict-unknown-key]  # A key of ours.
