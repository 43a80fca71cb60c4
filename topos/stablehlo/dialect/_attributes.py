"""Attributes read by key: an axis, a number of a width, the channel of a transfer."""

from __future__ import annotations

from typing import Final

from topos.stablehlo.ir import Typed
from topos.stablehlo.opview import OpView

__all__ = [
    "axis",
    "demand_channel",
    "demand_width",
]

_CHANNELS: Final = {1: "DEVICE_TO_DEVICE", 2: "DEVICE_TO_HOST", 3: "HOST_TO_DEVICE"}


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
    demand_width(claim, key, "i64")
    value = claim.integer(key)
    if value < 0:
        claim.refuse(f"needs {key} of 0 or more, got {value}")
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
