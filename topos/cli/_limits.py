"""The limits of `topos serve` on the command line, each as the settings that it becomes."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from topos.errors import ArgumentError

if TYPE_CHECKING:
    from topos.serving import Settings
    from topos.serving.http import Limits

__all__ = ["add_limits", "limits_of", "settings_of", "whole"]

MIB: Final = 2**20
BUFFERED: Final = 512 * MIB
LONGEST: Final = 1e8


class Limit(NamedTuple):
    """A flag, the field of `Settings` or `Limits` that it sets, and its default."""

    flag: str
    field: str
    default: float
    meaning: str


# Those of `Settings` first, then those of `Limits`; a default that is no integer is a time.
SETTINGS: Final = (
    Limit("--deadline", "deadline", 30.0, "for a request that sets no deadline"),
    Limit("--max-delay", "max_delay", 0.0, "that a request waits for others to share its call"),
    Limit("--start-time", "start_seconds", 120.0, "for a worker to load and compile its bundle"),
    Limit("--call-time", "call_seconds", 30.0, "for one call of the model; then its worker ends"),
    Limit("--max-body", "max_bytes", 64 * MIB, "bytes of a request, also decompressed"),
    Limit("--max-rows", "max_rows", 4096, "rows of a request"),
    Limit("--queue", "queue_requests", 1024, "requests that may wait for a model"),
    Limit("--queue-bytes", "queue_bytes", 256 * MIB, "bytes of the requests that wait for a model"),
    Limit("--attempts", "attempts", 2, "calls for a request whose worker ended"),
)
LIMITS: Final = (
    Limit("--max-deadline", "deadline", 300.0, "that a request may set as its deadline"),
    Limit("--head-time", "head_seconds", 10.0, "for request line and headers to arrive"),
    Limit("--body-time", "body_seconds", 30.0, "for a body to arrive"),
    Limit("--keep-alive", "keep_alive_seconds", 75, "seconds that an idle connection stays open"),
    Limit("--drain", "drain_seconds", 30.0, "to answer what is under way at the end"),
    Limit("--linger", "linger_seconds", 0.0, "to serve on after SIGTERM, not ready"),
    Limit("--max-json", "json_bytes", 16 * MIB, "bytes of JSON of a request"),
    Limit("--max-head", "head_bytes", 64 * 2**10, "bytes of request line and headers"),
    Limit("--connections", "connections", 1000, "connections at once"),
)
# These may be none at all.
ZERO: Final = ("--max-delay", "--linger")


def add_limits(parser: ArgumentParser) -> None:
    """Adds a flag for each limit."""
    group = parser.add_argument_group("limits")
    for limit in (*SETTINGS, *LIMITS):
        is_time = isinstance(limit.default, float)
        kind = whole if not is_time else _seconds_or_none if limit.flag in ZERO else _seconds
        group.add_argument(
            limit.flag,
            metavar="SECONDS" if is_time else "COUNT",
            type=kind,
            default=limit.default,
            help=f"{limit.meaning}; default: %(default)s",
        )
    group.add_argument(
        "--max-buffered",
        metavar="COUNT",
        type=whole,
        help=f"bytes of all bodies held at once; default: {BUFFERED}, or twice --max-body",
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


def whole(text: str, least: int = 1, most: int = 2**53) -> int:
    """Returns a whole number; argparse tells of anything else as a wrong usage."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= number <= most:
        raise ArgumentTypeError(f"needs a whole number from {least} to {most}, got {text!r}")
    return number


def _values(chosen: Namespace, limits: tuple[Limit, ...]) -> dict[str, Any]:
    # Each was read as the number that its field takes.
    names = {limit.field: limit.flag.removeprefix("--").replace("-", "_") for limit in limits}
    return {field: getattr(chosen, name) for field, name in names.items()}


def _seconds(text: str) -> float:
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
