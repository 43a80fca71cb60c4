"""Answers that are sent whole: their bytes, and when the long way is left to uvicorn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from topos.serving.http.replying import reply


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.sent = b""
        self.closed = False

    def write_whole(self, head: bytes, body: bytes) -> None:
        self.sent += head + body

    def close(self) -> None:
        self.closed = True


def cycle(method: str = "POST", **state: Any) -> Any:
    """A request that waits for its answer, as uvicorn keeps it."""
    told = list[str]()
    return SimpleNamespace(
        **{
            "scope": {"method": method},
            "transport": Wire(),
            "flow": SimpleNamespace(write_paused=state.pop("paused", False)),
            "default_headers": [(b"date", b"today")],
            "message_event": SimpleNamespace(set=lambda: told.append("event")),
            "on_response": lambda: told.append("response"),
            "told": told,
            "keep_alive": True,
            "disconnected": False,
            "response_started": False,
            "response_complete": False,
            "waiting_for_100_continue": True,
            **state,
        }
    )


def test_an_answer_is_sent_whole_and_ends_the_request() -> None:
    asked = cycle()
    assert reply(asked, 404, [(b"content-length", b"2")], b"{}")
    head = b"HTTP/1.1 404 Not Found\r\ndate: today\r\ncontent-length: 2\r\n\r\n"
    assert asked.transport.sent == head + b"{}"
    assert asked.response_started
    assert asked.response_complete
    assert not asked.waiting_for_100_continue
    assert asked.told == ["event", "response"]
    assert not asked.transport.closed
    assert not reply(asked, 200, [], b"")


def test_a_status_without_a_name_is_sent_all_the_same() -> None:
    asked = cycle()
    assert reply(asked, 499, [], b"")
    assert asked.transport.sent.startswith(b"HTTP/1.1 499 \r\n")


@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize("header", [(), (b"connection", b"close")])
def test_a_connection_that_ends_is_told_so_once(
    keep_alive: bool, header: tuple[bytes, bytes]
) -> None:
    asked = cycle(keep_alive=keep_alive)
    assert reply(asked, 200, [header] if header else [], b"")
    ends = bool(header) or not keep_alive
    assert asked.transport.sent.count(b"connection: close\r\n") == ends
    assert asked.transport.sent.endswith(b"\r\n\r\n")
    assert asked.transport.closed == ends


@pytest.mark.parametrize(
    ("state", "sent"),
    [
        ({"paused": True}, False),
        ({"method": "HEAD"}, False),
        ({"response_started": True}, False),
        ({"disconnected": True}, True),
    ],
)
def test_nothing_is_written_to_who_reads_no_answer_now(state: dict[str, Any], sent: bool) -> None:
    asked = cycle(**state)
    assert reply(asked, 200, [], b"{}") == sent
    assert asked.transport.sent == b""
