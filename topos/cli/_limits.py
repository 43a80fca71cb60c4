"""The limits of `topos serve` on the command line, each as the settings that it becomes."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from topos.cli._shared import whole
from topos.errors import ArgumentError

if TYPE_CHECKING:
    from topos.serving import Settings
    from topos.serving.http import Limits

MIB: Final = 2**20
BUFFERED: Final = 512 * MIB
LONGEST: Final = 1e8


class Limit(NamedTuple):
    """A flag, the field of `Settings` or `Limits` that it sets, its unit, and its default."""

    flag: str
    field: str
    unit: str
    default: float
    meaning: str


# A default that is no integer takes a fraction, too.
SETTINGS: Final = (
    Limit("--deadline", "deadline", "SECONDS", 30.0, "for a request that sets no deadline"),
    Limit("--max-delay", "max_delay", "SECONDS", 0.0, "to wait for others to share a call"),
    Limit("--start-time", "start_seconds", "SECONDS", 120.0, "for a worker to load its bundle"),
    Limit("--call-time", "call_seconds", "SECONDS", 30.0, "for one call of the model"),
    Limit("--max-body", "max_bytes", "BYTES", 64 * MIB, "of a request, also decompressed"),
    Limit("--max-rows", "max_rows", "ROWS", 4096, "of a request"),
    Limit("--queue", "queue_requests", "REQUESTS", 1024, "that may wait for a model"),
    Limit("--queue-bytes", "queue_bytes", "BYTES", 256 * MIB, "that may wait for a model"),
    Limit("--attempts", "attempts", "COUNT", 2, "of calls for a request whose worker ended"),
)
LIMITS: Final = (
    Limit("--max-deadline", "deadline", "SECONDS", 300.0, "that a request may set at most"),
    Limit("--head-time", "head_seconds", "SECONDS", 10.0, "for a request's headers to arrive"),
    Limit("--body-time", "body_seconds", "SECONDS", 30.0, "for a body to arrive"),
    Limit("--keep-alive", "keep_alive_seconds", "SECONDS", 75, "that a connection may be idle"),
    Limit("--drain", "drain_seconds", "SECONDS", 30.0, "to answer what is under way at the end"),
    Limit("--linger", "linger_seconds", "SECONDS", 0.0, "to serve on after SIGTERM, not ready"),
    Limit("--max-json", "json_bytes", "BYTES", 16 * MIB, "of the JSON of a request"),
    Limit("--max-head", "head_bytes", "BYTES", 64 * 2**10, "of the headers of a request"),
    Limit("--connections", "connections", "COUNT", 1000, "at once"),
)
_count: Final = partial(whole, least=1, most=2**53)
# These may be none at all.
ZERO: Final = ("--max-delay", "--linger")


def add_limits(parser: ArgumentParser) -> None:
    """Adds a flag for each limit."""
    group = parser.add_argument_group("limits")
    for limit in (*SETTINGS, *LIMITS):
        kind: Callable[[str], float] = _count
        if isinstance(limit.default, float):
            kind = _seconds_or_none if limit.flag in ZERO else seconds_above_zero
        group.add_argument(
            limit.flag,
            metavar=limit.unit,
            type=kind,
            default=limit.default,
            help=f"{limit.meaning}; default: {limit.default:.10g}",
        )
    group.add_argument(
        "--max-buffered",
        metavar="BYTES",
        type=_count,
        help=f"of all bodies held at once; default: {BUFFERED}, or twice --max-body",
    )
    group.add_argument("--no-batching", action="store_true", help="run every request by itself")
    group.add_argument(
        "--isolation",
        choices=("process", "thread"),
        default="process",
        help="where a model runs; default: %(default)s",
    )


def settings_of(chosen: Namespace) -> Settings:
    """Returns the limits of the session."""
    from topos.serving import Settings

    return Settings(
        isolation=chosen.isolation,
        batching=not chosen.no_batching,
        **_values(chosen, SETTINGS),
    )


def limits_of(chosen: Namespace) -> Limits:
    """Returns the limits of the HTTP side.

    Raises `ArgumentError` where a body of the longest length could not be held.
    """
    from topos.serving.http import Limits

    least = 2 * chosen.max_body
    buffered = chosen.max_buffered or max(BUFFERED, least)
    if buffered < least:
        needs = f"--max-buffered needs {least} or more, twice --max-body, got {buffered}"
        raise ArgumentError(needs)
    return Limits(
        body_bytes=chosen.max_body,
        buffered_bytes=buffered,
        **_values(chosen, LIMITS),
    )


def _values(chosen: Namespace, limits: tuple[Limit, ...]) -> dict[str, Any]:
    # Each was read as the number that its field takes.
    names = {limit.field: limit.flag.removeprefix("--").replace("-", "_") for limit in limits}
    return {field: getattr(chosen, name) for field, name in names.items()}


def seconds_above_zero(text: str) -> float:
    """Returns seconds; argparse tells of any other text as a wrong usage."""
    number = _seconds_or_none(text)
    if not number:
        raise ArgumentTypeError(f"needs seconds above zero, got {text!r}")
    return number


def _seconds_or_none(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= LONGEST:
        raise ArgumentTypeError(f"needs seconds from zero to {LONGEST:g}, got {text!r}")
    return number
