"""Tokens: who has it may ask, who has not is told that it is wanted, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.serving_http import (
    INFER,
    ROWS,
    Server,
    ask,
    infer,
    running,
)
from topos.errors import ArgumentError
from topos.serving.http import Token


@pytest.fixture(scope="module")
def guarded(two_rows: Path) -> Iterator[Server]:
    with running([two_rows], token="right.token==") as server:
        yield server


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer wrong",
        "Basic right.token==",
        "Bearer right.token== x",
        "Bearer \u00fc",
    ],
)
def test_only_the_token_opens_a_guarded_server(guarded: Server, authorization: str) -> None:
    answer = ask(guarded, "/v2", authorization=authorization)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert ask(guarded, "/metrics", authorization=authorization).status == 401
    assert ask(guarded, INFER, infer(ROWS), authorization=authorization).status == 401
    assert ask(guarded, "/status.json", authorization=authorization).status == 401
    assert ask(guarded, "/v2/health/ready", authorization=authorization).status == 200


def test_the_token_opens(guarded: Server) -> None:
    for header in ("Bearer right.token==", "bearer  right.token=="):
        assert ask(guarded, INFER, infer(ROWS), authorization=header).status == 200
    load = ask(guarded, "/v2/repository/models/mlp/load", b"{}", authorization=header)
    assert json.loads(load.body)["name"] == "mlp"


@pytest.mark.parametrize("text", ["", "with space", "line\nbreak", "\u00fcber", "=ab"])
def test_a_token_that_no_header_can_carry_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"^the token needs letters, digits"):
        Token(text)
    assert "secret" not in repr(Token("secret"))
