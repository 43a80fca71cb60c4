"""Bad input: what a user may write by mistake, and where the traceback puts it."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from topos import Tape, Value, errors


class Bad(NamedTuple):
    """One thing a user may write, and the exception that answers it."""

    name: str
    error: type[errors.ToposError]
    message: str
    action: Callable[[Any], object]


def sealed_value() -> Value:
    tape = Tape()
    value = tape.input(shape=(2, 3))
    tape.into_network()
    return value


def innermost_of_the_user(error: BaseException) -> FrameType:
    """Returns the last frame of the traceback that is no code of the package."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals["__name__"]
        if name != "topos" and not name.startswith("topos."):
            frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames[-1]
