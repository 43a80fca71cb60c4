"""Attributes as several rules read them: numbers that count or name axes, lists of a length."""

from __future__ import annotations

from typing import Final

from topos.stablehlo.ir import Symbol, Typed, Word
from topos.stablehlo.opview import OpView

__all__ = [
    "axis",
    "demand_channel",
    "demand_width",
    "natural",
    "text",
]

_CHANNELS: Final = {1: "DEVICE_TO_DEVICE", 2: "DEVICE_TO_HOST", 3: "HOST_TO_DEVICE"}


def natural(claim: OpView, key: str, width: str = "i64") -> int:
    """Returns an integer attribute of the type `width` that is not negative."""
    demand_width(claim, key, width)
    value = claim.integer(key)
    if value < 0:
        claim.refuse(f"needs {key} of 0 or more, got {value}")
    return value


def text(claim: OpView, key: str, default: str | None = None) -> str:
    """Returns an attribute written in quotes, which must be there unless it has a default."""
    value = claim.word(key, default)
    if isinstance(value, (Symbol, Word)):
        claim.refuse(f"needs a string as {key}, got {value}")
    return value


def demand_width(claim: OpView, key: str, width: str) -> None:
    """Refuses an integer attribute, where there is one, of another type than `width`."""
    stated = claim.operation.attributes.get(key)
    if stated is None:
        return
    # A number without a type is an i64.
    type = str(stated.type) if isinstance(stated, Typed) else "i64"
    if type != width:
        claim.refuse(f"needs {key} as a number of {width}, got {type}")


def axis(claim: OpView, key: str, rank: int) -> int:
    """Returns an attribute that names an axis of a value of `rank`."""
    value = natural(claim, key)
    if value >= rank:
        claim.refuse(f"needs {key} below {rank}, got {value}")
    return value


def demand_channel(claim: OpView, host: str) -> None:
    """Refuses a channel that is not the one for the transfer: `host`, or between devices."""
    fields = claim.fields("channel_handle")
    pairs = claim.integers("source_target_pairs", ())
    if len(pairs) % 2:
        claim.refuse(f"needs pairs as source_target_pairs, got {list(pairs)}")
    needed = host if claim.truth("is_host_transfer", False) else "DEVICE_TO_DEVICE"
    number = fields.get("type")
    got = _CHANNELS.get(number, "none") if type(number) is int else "none"
    if got != needed:
        claim.refuse(f"needs a channel of type {needed}, got {got}")
