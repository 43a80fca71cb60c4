"""Symbols, which outlive the recording, and where on the user's page each node was written."""

from __future__ import annotations

import os
import sys
from itertools import islice
from types import FrameType
from typing import NamedTuple


class Symbol(NamedTuple):
    """The name of one recorded value: it crosses seal, reopen, threads and pickles.

    `origin` tells recordings apart, `position` is the value's place on the tape.
    """

    origin: int
    position: int

    def __repr__(self) -> str:
        return f"%{self.position}"


class Location(NamedTuple):
    """The place in a source file of a recording expression; line and column count from one."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def new_origin() -> int:
    """Returns a 64-bit number that no other recording, in any process, carries."""
    return int.from_bytes(os.urandom(8), "little")


def user_location() -> Location:
    """Returns the place of the innermost call that is not topos's own."""
    frame: FrameType = sys._getframe(1)
    while _is_own(frame) and frame.f_back is not None:
        frame = frame.f_back
    positions = frame.f_code.co_positions()
    line, _, column, _ = next(islice(positions, frame.f_lasti // 2, None))
    return Location(frame.f_code.co_filename, line or frame.f_lineno, (column or 0) + 1)


def user_stacklevel() -> int:
    """Returns the `stacklevel` of that call, for a warning that the caller of this gives."""
    frame: FrameType = sys._getframe(1)
    level = 1
    while _is_own(frame) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level


def _is_own(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return bool(name == "topos" or name.startswith("topos."))
