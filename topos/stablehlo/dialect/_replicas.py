"""Replica groups: lists of the devices that work together, or axes of a mesh of devices."""

from __future__ import annotations

import re
from typing import Final

from topos.stablehlo.dialect._numbers import (
    Table,
    integer_field,
    marked,
    named_fields,
    table,
)
from topos.stablehlo.ir import Opaque
from topos.stablehlo.opview import OpView

__all__ = ["demand_channel", "demand_groups"]

_KEY: Final = "replica_groups"
# A mesh and its axes are kept as they are spelled.
_MESH: Final = "#stablehlo.replica_group_mesh_axes<"
_SYMBOL: Final = re.compile(r"\bmesh\s*=\s*@\"?([\w$.\-]+)")
# An axis in full is `#stablehlo.mesh_axis<name = "x", size = 2>`, in short what follows the word.
_DEFINED: Final = re.compile(r'<\s*name\s*=\s*"([^"]*)"\s*,\s*size\s*=')
_USED: Final = re.compile(r'axis_ref<\s*name\s*=\s*"([^"]*)"')


def demand_groups(
    claim: OpView, *, uniform: bool, size: int | None = None, complete: bool = True
) -> None:
    """Refuses groups that overlap, or leave out a device where they are to be `complete`.

    Groups that are not `uniform` may be filled up with -1; `size` is how many devices each has.
    """
    value = claim.attribute(_KEY)
    if isinstance(value, Opaque):
        _demand_mesh(claim, value.text)
        return
    groups = table(claim, _KEY)
    if len(groups.shape) != 2:
        claim.refuse(f"needs {_KEY} of rank 2, got the shape {list(groups.shape)}")
    if marked(claim, "use_global_device_ids") and not groups.values:
        claim.refuse(f"needs {_KEY} that are not empty with use_global_device_ids")
    if size is not None and (not groups.shape[0] or groups.shape[1] != size):
        claim.refuse(f"needs {_KEY} of {size} devices each, got the shape {list(groups.shape)}")
    _demand_devices(claim, groups, uniform, complete)


def _demand_devices(claim: OpView, groups: Table, uniform: bool, complete: bool) -> None:
    devices = [device for device in groups.values if uniform or device != -1]
    distinct = set(devices)
    if len(distinct) != len(devices):
        claim.refuse(f"needs each device once in {_KEY}, got {devices}")
    negative = min(devices, default=0) < 0
    if negative or (complete and distinct != set(range(len(devices)))):
        claim.refuse(f"needs {_KEY} of the devices from 0 to {len(devices) - 1}, got {devices}")


def _demand_mesh(claim: OpView, text: str) -> None:
    """Refuses a mesh that is not defined, or an axis that a mesh written in place has not."""
    if not text.startswith(_MESH):
        claim.refuse(f"needs a dense constant or the axes of a mesh as {_KEY}, got {text}")
    symbol = _SYMBOL.search(text)
    if symbol:
        if symbol[1] not in claim.meshes and symbol[1] not in claim.functions:
            claim.refuse(f"needs a mesh @{symbol[1]} for its {_KEY}, which is not defined")
        return
    defined = _DEFINED.findall(text)
    for name in _USED.findall(text):
        if name not in defined:
            claim.refuse(f"needs axes of its mesh, {' '.join(defined)}, as {_KEY}, got {name}")


def demand_channel(claim: OpView, least: int | None = None) -> None:
    """Refuses a channel that is not one, or below `least` with the devices of all processes."""
    handle = 0
    if "channel_handle" in claim.operation.attributes:
        known = ("handle", "type")
        fields = named_fields(claim, "channel_handle", "#stablehlo.channel_handle<", known)
        handle = integer_field(claim, fields, "handle")
    if least is not None and marked(claim, "use_global_device_ids") and handle < least:
        claim.refuse(f"needs a channel of {least} or more with global devices, got {handle}")
