"""Seconds: which times a session can keep, and what a message shows of those that it can't."""

from __future__ import annotations

from numbers import Real
from typing import Final, TypeGuard

from topos.errors import ArgumentError

__all__ = ["MOST_SECONDS", "is_time", "patience", "shown"]

# Three years. Timers of the system and of the loop take no time that is without end.
MOST_SECONDS: Final = 1e8
SHOWN: Final = 40


def is_time(value: object) -> TypeGuard[float]:
    """Returns whether `value` is a number from zero to `MOST_SECONDS`."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and bool(0 <= value <= MOST_SECONDS)  # type: ignore[operator]


def patience(seconds: object) -> float:
    """Returns for how long a drain waits, where longer than a timer can is as long as it can.

    Raises `ArgumentError` where `seconds` is no number from zero on.
    """
    if is_time(seconds):
        return float(seconds)
    if isinstance(seconds, int | float) and seconds > MOST_SECONDS:
        return MOST_SECONDS
    raise ArgumentError(f"a drain needs seconds from zero on, got {shown(seconds)}")


def shown(value: object) -> str:
    """Returns how `value` reads in a message, cut where it is long."""
    try:
        return repr(value)[:SHOWN]
    # A number of thousands of digits has no text, and a class may have any `__repr__`.
    except Exception:
        return type(value).__name__
