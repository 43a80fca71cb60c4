"""Replica groups: lists of the devices that work together, or axes of a mesh of devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topos.runtimes._stablehlo.claim import Claim
from topos.runtimes._stablehlo.rules._numbers import Table, marked, table
from topos.runtimes._stablehlo.syntax import Symbol

__all__ = ["demand_channel_id", "demand_groups"]

_KEY = "replica_groups"


def demand_groups(
    claim: Claim, *, uniform: bool, size: int | None = None, complete: bool = True
) -> None:
    """Refuses groups that overlap, or leave out a device where they are to be `complete`.

    Groups that are not `uniform` may be filled up with -1; `size` is how many devices each has.
    """
    value = claim.attribute(_KEY)
    if isinstance(value, Mapping):
        _demand_mesh(claim, value)
        return
    groups = table(claim, _KEY)
    if len(groups.shape) != 2:
        claim.refuse(f"needs {_KEY} of rank 2, got the shape {list(groups.shape)}")
    if marked(claim, "use_global_device_ids") and not groups.values:
        claim.refuse(f"needs {_KEY} that are not empty with use_global_device_ids")
    if size is not None and (not groups.shape[0] or groups.shape[1] != size):
        claim.refuse(f"needs {_KEY} of {size} devices each, got the shape {list(groups.shape)}")
    _demand_devices(claim, groups, uniform, complete)


def _demand_devices(claim: Claim, groups: Table, uniform: bool, complete: bool) -> None:
    devices = [device for device in groups.values if uniform or device != -1]
    distinct = set(devices)
    if len(distinct) != len(devices):
        claim.refuse(f"needs each device once in {_KEY}, got {devices}")
    negative = min(devices, default=0) < 0
    if negative or (complete and distinct != set(range(len(devices)))):
        claim.refuse(f"needs {_KEY} of the devices from 0 to {len(devices) - 1}, got {devices}")


def _demand_mesh(claim: Claim, fields: Mapping[str, Any]) -> None:
    """Refuses a mesh that is not defined, or an axis that a mesh written in place has not."""
    mesh, axes = fields.get("mesh"), fields.get("axes", ())
    if isinstance(mesh, Symbol):
        if mesh not in claim.functions:
            claim.refuse(f"needs a mesh @{mesh} for its {_KEY}, which is not defined")
        return
    if not isinstance(mesh, Mapping) or not isinstance(axes, tuple):
        claim.refuse(f"needs a mesh and its axes as {_KEY}, got {dict(fields)}")
    named = [axis.get("name") for axis in mesh.get("axes", ()) if isinstance(axis, Mapping)]
    for axis in axes:
        if not isinstance(axis, Mapping) or axis.get("name") not in named:
            claim.refuse(f"needs axes among {named} in {_KEY}, got {axis}")


def demand_channel_id(claim: Claim, least: int) -> None:
    """Refuses a channel below `least` where the devices are named across all processes."""
    fields = claim.optional("channel_handle")
    if fields is not None and not isinstance(fields, Mapping):
        claim.refuse(f"needs named fields as channel_handle, got {fields}")
    channel = (fields or {}).get("handle", 0)
    if type(channel) is not int:
        claim.refuse(f"needs an integer as the channel's handle, got {channel}")
    if marked(claim, "use_global_device_ids") and channel < least:
        claim.refuse(f"needs a channel of {least} or more with global devices, got {channel}")
