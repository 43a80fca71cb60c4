"""Settings, times and deadlines: what a session takes for one, and how it refuses the rest."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.serving_bundles import FEATURES, truth
from topos.errors import ArgumentError
from topos.serving import DeadlineError, RequestError, Session, Settings
from topos.serving.http import Limits
from topos.serving.loaded import LoadedModel
from topos.serving.origins import origins_of
from topos.serving.settings import patience, shown

X = np.arange(2 * FEATURES, dtype=np.float32).reshape(2, FEATURES)


@pytest.mark.parametrize(
    "name", ["max_delay", "deadline", "start_seconds", "call_seconds", "backoff", "max_backoff"]
)
@pytest.mark.parametrize(
    "value", [float("inf"), 9.3e9, 10**400, 10**5000, float("nan"), "x"], ids=shown
)
def test_a_time_is_one_that_a_timer_takes(name: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=f"^{name} needs "):
        Settings(**{name: value})


@pytest.mark.parametrize(
    "given",
    [
        *({name: 0} for name in ("call_seconds", "attempts", "max_rows")),
        {"max_bytes": "x"},
        {"queue_bytes": True},
    ],
    ids=str,
)
def test_a_limit_is_a_number_above_zero(given: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"^{next(iter(given))} needs a number above zero"):
        Settings(**given)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"keep_alive_seconds": 0}, "keep_alive_seconds needs a number above zero, got 0"),
        ({"head_seconds": "soon"}, "head_seconds needs a number above zero, got 'soon'"),
        ({"deadline": float("inf")}, "deadline needs 1e+08 seconds at most, got more"),
        ({"linger_seconds": -1}, "linger_seconds needs a number from zero on, got -1"),
        ({"connections": True}, "connections needs a number above zero, got True"),
        (
            {"body_bytes": 2**30},
            f"buffered_bytes needs twice body_bytes or more, which are {2**30}, got {2**29}",
        ),
    ],
)
def test_a_limit_of_the_http_side_is_one_that_can_be_kept(given: Any, reason: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Limits(**given)
    assert str(caught.value) == reason
    Limits(body_bytes=2**30, buffered_bytes=2**31, linger_seconds=0)


def test_the_longest_time_serves(bundle: Path) -> None:
    settings = Settings(isolation="process", call_seconds=1e8, start_seconds=1e8, deadline=1e8)
    with Session(bundle, runtime="interpreter", settings=settings) as session:
        assert session.infer("mlp", {"x": X})["scores"].tobytes() == truth(X).tobytes()
        assert session.counters("mlp").restarts == 0


@pytest.mark.parametrize(
    "deadline", [10**400, 10**5000, 1e300, "x", [], True, 1j, np.array([1.0, 2.0]), b"1"], ids=shown
)
def test_a_deadline_is_a_time(session: Session, deadline: Any) -> None:
    with pytest.raises(RequestError, match=r"^deadline: needs seconds above zero and 1e\+08 at"):
        session.infer("mlp", {"x": X}, deadline=deadline)


@pytest.mark.parametrize("deadline", [np.float32(20), np.int64(20), 20])
def test_a_deadline_is_any_real_number(session: Session, deadline: Any) -> None:
    assert session.infer("mlp", {"x": X}, deadline=deadline)["scores"].shape == (2, 3)


def test_a_tiny_deadline_is_told_as_it_was(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = threading.Event()
    monkeypatch.setattr(LoadedModel, "run", lambda *_: refused.wait(20.0))
    with Session(bundle, runtime="interpreter") as session:
        with pytest.raises(DeadlineError, match=r"within the deadline of 1e-12 seconds$"):
            session.infer("mlp", {"x": X}, deadline=1e-12)
        refused.set()


@pytest.mark.parametrize("seconds", ["x", -1, None, float("nan"), True, []])
def test_a_drain_needs_a_time(session: Session, seconds: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^a drain needs seconds from zero on, got "):
        session.drain(seconds)
    assert session.model("mlp").ready


def test_patience_without_end_is_the_longest_there_is() -> None:
    assert [patience(each) for each in (0, 1.5, float("inf"), 10**400)] == [0.0, 1.5, 1e8, 1e8]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bundles": 5}, "bundles need a folder or more, got 5"),
        ({"bundles": None}, "bundles need a folder or more, got None"),
        ({"bundles": b"x"}, "bundles needs the path of a folder, got 120"),
        ({"bundles": [None]}, "bundles needs the path of a folder, got None"),
        ({"bundles": "\0"}, r"bundles needs the path of a folder, got '\x00'"),
        ({"runtime": 5}, "runtime needs the name of one, got 5"),
        ({"options": 5}, "options need names mapped to values, got 5"),
        ({"options": {1: 2}}, "options need names mapped to values, got {1: 2}"),
        ({"settings": 5}, "settings need a Settings, got 5"),
        ({"settings": {}}, "settings need a Settings, got {}"),
        ({"observers": 5}, "observers need a sequence, got 5"),
        ({"cache": 5}, "cache needs the path of a folder, got 5"),
        ({"cache": b"x"}, "cache needs the path of a folder, got b'x'"),
    ],
)
def test_a_session_says_what_it_needs(given: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Session(**{"bundles": "somewhere", **given})
    assert str(caught.value) == message


def test_an_observer_has_every_hook() -> None:
    hooks = "request_finished, call_finished, worker_restarted, reload_finished"
    with pytest.raises(ArgumentError, match=f"^an observer needs {hooks}, got 5$"):
        Session("somewhere", observers=[5])  # type: ignore[list-item]


def test_paths_that_are_no_text_are_refused() -> None:
    with pytest.raises(ArgumentError, match="of text"):
        origins_of("\udc80", "xla", "fast", None, None)
