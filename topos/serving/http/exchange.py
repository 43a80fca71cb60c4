"""Exchanges: one request, as the log and the metrics tell of it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["Exchange", "identifiers", "sane"]

# What may stand in a log and in a header as it is; anything else is replaced, not escaped.
_SANE: Final = re.compile(rb"[A-Za-z0-9._:-]{1,64}")


@dataclass(slots=True)
class Exchange:
    """What is known of a request by the time it is answered.

    `whole` says that the body has arrived. `path` is a template of the server's own, and `model`
    is empty unless it is one that is served: nothing that a client makes up becomes a label.
    """

    method: str
    identifier: bytes
    headers: Mapping[bytes, bytes]
    whole: bool = False
    path: str = "unknown"
    model: str = ""
    rows: int = 0


def identifiers() -> Iterator[bytes]:
    """Yields identifiers that no other call yields, in this process or another."""
    start = os.urandom(6).hex()
    return (f"{start}-{count:x}".encode() for count in itertools.count())


def sane(identifier: bytes | None) -> bool:
    """Returns whether a client's own identifier may stand in a log."""
    return identifier is not None and _SANE.fullmatch(identifier) is not None
