"""Limits: what the HTTP side takes of one client, each with a default for a small server."""

from __future__ import annotations

from dataclasses import dataclass, fields

from topos.errors import ArgumentError
from topos.serving.settings import demand_number, demand_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of the HTTP side; times are in seconds, sizes in bytes.

    A body counts as it is sent and again as it is decompressed. `json_bytes` bounds the JSON of a
    request alone, which is slow to read and holds everyone else up. `buffered_bytes` bounds all
    bodies that are held at once; it has room for the longest one, compressed and decompressed.
    `head_seconds` is the time for request line and headers,
    `body_seconds` that for the body, `deadline` the longest that a client may ask for.
    """

    body_bytes: int = 64 * 2**20
    json_bytes: int = 16 * 2**20
    buffered_bytes: int = 512 * 2**20
    head_bytes: int = 64 * 2**10
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    keep_alive_seconds: int = 75
    connections: int = 1000
    deadline: float = 300.0
    drain_seconds: float = 30.0
    linger_seconds: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            demand_number(field.name, value, zero=field.name == "linger_seconds")
            if field.name == "deadline" or field.name.endswith("_seconds"):
                demand_time(field.name, value)
        # One of the longest length would be refused for ever, as if others were in its way.
        if self.buffered_bytes < 2 * self.body_bytes:
            needs = f"twice body_bytes or more, which are {self.body_bytes}"
            raise ArgumentError(f"buffered_bytes needs {needs}, got {self.buffered_bytes}")
