"""Figures for people: durations, rates and sizes in the unit that suits them, in three digits."""

from __future__ import annotations

from typing import Final

NONE: Final = "-"


def duration(seconds: float | None) -> str:
    """Returns a duration in seconds, milliseconds or microseconds."""
    if seconds is None:
        return NONE
    unit, scale = unit_of(seconds)
    return f"{digits(seconds * scale)} {unit}"


def unit_of(seconds: float) -> tuple[str, float]:
    """Returns the unit that suits a duration, and how many of it make a second."""
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return unit, scale
    return "µs", 1e6


def rate(number: float | None) -> str:
    """Returns how many a second."""
    return NONE if number is None else digits(number)


def size(number: float | None) -> str:
    """Returns a number of bytes."""
    if number is None:
        return NONE
    if number < 1024:
        return f"{number:.0f} B"
    for unit in ("KiB", "MiB"):
        number /= 1024
        if number < 1024:
            return f"{digits(number)} {unit}"
    return f"{digits(number / 1024)} GiB"


def digits(number: float) -> str:
    """Returns three significant digits, and every digit before the point."""
    if number < 1:
        return f"{number:.3g}"
    whole = len(str(int(number)))
    return f"{number:,.{max(0, 3 - whole)}f}"
