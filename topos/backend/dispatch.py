"""Dispatch: how the kernels of a backend are reached."""

from __future__ import annotations

from enum import Enum

__all__ = ["Dispatch"]


class Dispatch(Enum):
    """Where the numbers go: a copy to a device costs time, and text leaves the process."""

    HOST = "called on the host's arrays"
    DEVICE = "copied to a device and back"
    TEXT = "written as a module for a runtime"
