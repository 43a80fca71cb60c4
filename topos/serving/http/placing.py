"""Placing: a decoder's complaint as an error that names the field of the request."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from topos.serving.errors import RequestError

__all__ = ["faulty"]

# msgspec ends its complaint with the path of the value, which starts at `$`.
_PLACE: Final = re.compile(r"(?s)(.*) - at `(?:key in )?\$\.?([^`]*)`")


def faulty(error: msgspec.DecodeError, field: str) -> RequestError:
    """Returns the error of a text that is not JSON, or not of the wanted form, under `field`."""
    # That a field may be null, too, is no help to one who sent something else.
    reason = str(error).replace(" | null", "")
    reason = reason.replace("Invalid enum value", "Needs a number, got")
    found = _PLACE.fullmatch(reason)
    if not found:
        return RequestError(field, _lower(reason.replace("`", "")))
    reason, place = found[1].replace("`", ""), found[2]
    if not place or place.startswith("["):
        return RequestError(f"{field}{place}", _lower(reason))
    return RequestError(f"{field}.{place}" if field != "body" else place, _lower(reason))


def _lower(reason: str) -> str:
    return reason if reason.startswith("JSON") else f"{reason[:1].lower()}{reason[1:]}"
