"""Replica groups: lists of the devices that work together, or axes of a mesh of devices."""

from __future__ import annotations

import re
from typing import Any, Final

from topos.stablehlo.dense import dense_of
from topos.stablehlo.ir import UNIT, Opaque, Tensor
from topos.stablehlo.opview import OpView, Table
from topos.stablehlo.typed_attributes import Attribute, Fields, truth_given

_KEY: Final = "replica_groups"
# A mesh and its axes are kept as they are spelled.
_MESH: Final = "#stablehlo.replica_group_mesh_axes<"
_SYMBOL: Final = re.compile(r"\bmesh\s*=\s*@\"?([\w$.\-]+)")
# An axis in full is `#stablehlo.mesh_axis<name = "x", size = 2>`, in short what follows the word.
_DEFINED: Final = re.compile(r'<\s*name\s*=\s*"([^"]*)"\s*,\s*size\s*=')
_USED: Final = re.compile(r'axis_ref<\s*name\s*=\s*"([^"]*)"')


class Groups(Attribute[Table | None]):
    """Lists of devices, as a dense constant of rank 2, or the axes of a mesh in their place."""

    takes = "lists of devices, all of one length"
    example = "[[0, 1]]"

    def read(self, view: OpView) -> Table | None:
        """Returns the devices, or `None` where axes of a mesh tell them."""
        value = view.attribute(self.key)
        return None if isinstance(value, Opaque) else view.table(self.key)

    def made(self, value: Any) -> Any:
        made = dense_of(value, "i64")
        # No groups at all are of any shape.
        if isinstance(made.type, Tensor) and len(made.type.shape) != 2 and made.type.shape != (0,):
            raise ValueError(f"{made.type} holds no lists")
        return made


class Mark(Attribute[bool]):
    """An attribute that is true by being there."""

    takes = "True or False"
    example = "True"

    def read(self, view: OpView) -> bool:
        value = view.operation.attributes.get(self.key)
        if value not in (None, UNIT):
            view.refuse(f"needs no value for {self.key}, got {value}")
        return value is not None

    def made(self, value: Any) -> Any:
        return UNIT if truth_given(value) else None


_GLOBAL: Final = Mark("use_global_device_ids")
_CHANNEL: Final = Fields("#stablehlo.channel_handle<", ("handle", "type"), key="channel_handle")


def demand_groups(
    view: OpView, *, uniform: bool, size: int | None = None, complete: bool = True
) -> None:
    """Refuses groups that overlap, or leave out a device where they are to be `complete`.

    Groups that are not `uniform` may be filled up with -1; `size` is how many devices each has.
    """
    value = view.attribute(_KEY)
    if isinstance(value, Opaque):
        _demand_mesh(view, value.text)
        return
    groups = view.table(_KEY)
    if len(groups.shape) != 2:
        view.refuse(f"needs {_KEY} of rank 2, got the shape {list(groups.shape)}")
    if _GLOBAL.read(view) and not groups.values:
        view.refuse(f"needs {_KEY} that are not empty with use_global_device_ids")
    if size is not None and (not groups.shape[0] or groups.shape[1] != size):
        view.refuse(f"needs {_KEY} of {size} devices each, got the shape {list(groups.shape)}")
    _demand_devices(view, groups, uniform, complete)


def _demand_devices(view: OpView, groups: Table, uniform: bool, complete: bool) -> None:
    devices = [device for device in groups.values if uniform or device != -1]
    distinct = set(devices)
    if len(distinct) != len(devices):
        view.refuse(f"needs each device once in {_KEY}, got {devices}")
    negative = min(devices, default=0) < 0
    if negative or (complete and distinct != set(range(len(devices)))):
        view.refuse(f"needs {_KEY} of the devices from 0 to {len(devices) - 1}, got {devices}")


def _demand_mesh(view: OpView, text: str) -> None:
    """Refuses a mesh that is not defined, or an axis that a mesh written in place has not."""
    if not text.startswith(_MESH):
        view.refuse(f"needs a dense constant or the axes of a mesh as {_KEY}, got {text}")
    symbol = _SYMBOL.search(text)
    if symbol:
        if symbol[1] not in view.meshes and symbol[1] not in view.functions:
            view.refuse(f"needs a mesh @{symbol[1]} for its {_KEY}, which is not defined")
        return
    defined = _DEFINED.findall(text)
    for name in _USED.findall(text):
        if name not in defined:
            view.refuse(f"needs axes of its mesh, {' '.join(defined)}, as {_KEY}, got {name}")


def demand_channel(view: OpView, least: int | None = None) -> None:
    """Refuses a channel that is not one, or below `least` with the devices of all processes."""
    handle = 0
    if _CHANNEL.key in view.operation.attributes:
        handle = _CHANNEL.read(view).get("handle", 0)
        if type(handle) is not int:
            view.refuse(f"needs an integer as handle, got {handle}")
    if least is not None and _GLOBAL.read(view) and handle < least:
        view.refuse(f"needs a channel of {least} or more with global devices, got {handle}")
