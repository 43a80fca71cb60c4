"""Lines on their way to a slow reader, names in a path, and what is told of workers."""

from __future__ import annotations

import threading

import pytest

from topos.errors import BundleError
from topos.serving.http.access_log import Lines
from topos.serving.http.server import Telling, require_servable


def test_a_reader_that_blocks_holds_nobody_up_and_loses_the_lines_beyond() -> None:
    written: list[int] = []
    began, leave = threading.Event(), threading.Event()

    def write(lines: list[int]) -> None:
        began.set()
        leave.wait(60)
        written.extend(lines)

    lines = Lines(write, most=3)
    lines.put(0)
    assert began.wait(60)
    for line in range(1, 9):
        lines.put(line)
    lines.flush(0.05)
    assert (written, lines.lost) == ([], 5)
    leave.set()
    lines.flush(60)
    assert written == [0, 1, 2, 3]


def test_lines_that_cannot_be_written_are_counted_and_the_next_ones_are_tried() -> None:
    written: list[str] = []

    def write(lines: list[str]) -> None:
        if "bad" in lines:
            raise OSError("no space left")
        written.extend(lines)

    lines = Lines(write, most=10)
    for line in ("bad", "good"):
        lines.put(line)
        lines.flush(60)
    assert (written, lines.lost) == (["good"], 1)


@pytest.mark.parametrize("name", ["digits", "a.b-c_9", "Stats", "x" * 200])
def test_a_name_of_letters_digits_dots_and_dashes_is_served(name: str) -> None:
    require_servable(name)


@pytest.mark.parametrize("name", ["stats", "", ".", "..", "a/b", "a b", "a\n", "ä", "x" * 201])
def test_any_other_name_is_refused_with_the_rule(name: str) -> None:
    with pytest.raises(BundleError, match="letters, digits, dots, dashes and underscores") as found:
        require_servable(name)
    assert len(str(found.value)) < 300
    assert "\n" not in str(found.value)


def test_a_worker_that_ended_is_told_in_one_line() -> None:
    told: list[str] = []
    Telling(told.append).worker_restarted("mlp", "the worker died of SIGKILL\nwith last words")
    assert told == ["mlp starts its worker again: the worker died of SIGKILL / with last words"]
