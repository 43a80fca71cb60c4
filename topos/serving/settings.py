"""Settings: the limits that a session keeps, and which times it can keep at all."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Final, Literal, TypeGuard

from topos.errors import ArgumentError

Isolation = Literal["thread", "process"]

ISOLATIONS: Final = ("thread", "process")
TIMES: Final = frozenset(
    ("max_delay", "deadline", "start_seconds", "call_seconds", "backoff", "max_backoff")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The limits of a session; times are in seconds, `None` is no limit.

    A worker has `start_seconds` to load and compile its bundle, and `call_seconds` for one call;
    after that it is ended, and started again after a pause of `backoff`, doubled at each failure up
    to `max_backoff`. A request whose worker ended runs again, `attempts` times in all.
    `isolation` says where a model runs: in a worker process of its own, which may crash or hang
    without harm to the session, or in a thread of this process. A request waits `max_delay` at
    most for others to share its call; zero gathers only what waits while the worker is busy.
    `batching=False` runs every request by itself. No time is longer than 1e8 seconds.
    """

    isolation: Isolation = "thread"
    batching: bool = True
    max_delay: float = 0.0
    deadline: float | None = 30.0
    max_rows: int = 4096
    max_bytes: int = 64 * 2**20
    queue_requests: int = 1024
    queue_bytes: int = 256 * 2**20
    start_seconds: float = 120.0
    call_seconds: float = 30.0
    attempts: int = 2
    backoff: float = 0.5
    max_backoff: float = 30.0

    def __post_init__(self) -> None:
        if self.isolation not in ISOLATIONS:
            raise ArgumentError(f"isolation needs thread or process, got {self.isolation!r}")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("isolation", "batching") or (field.name, value) == ("deadline", None):
                continue
            demand_number(field.name, value, zero=field.name == "max_delay")
            if field.name in TIMES:
                demand_time(field.name, value)


def demand_number(name: str, value: object, zero: bool = False) -> None:
    """Raises `ArgumentError` unless a limit is a number above zero, or zero where it may be."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (value > 0 or (zero and value == 0)):  # type: ignore[operator]
        least = "from zero on" if zero else "above zero"
        raise ArgumentError(f"{name} needs a number {least}, got {shown(value)}")


def demand_time(name: str, value: object) -> None:
    """Raises `ArgumentError` for a limit that is longer than a timer can be."""
    if not is_time(value):
        raise ArgumentError(f"{name} needs {MOST_SECONDS:g} seconds at most, got more")


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
