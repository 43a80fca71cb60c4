"""Symbols: names of recorded values that outlive the recording."""

from __future__ import annotations

from typing import NamedTuple


class Symbol(NamedTuple):
    """The name of one recorded value: it crosses seal, reopen, threads and pickles.

    `origin` tells recordings apart, `position` is the value's place on the tape.
    """

    origin: int
    position: int

    def __repr__(self) -> str:
        return f"%{self.position}"
