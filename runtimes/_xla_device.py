"""The device that the XLA adapter compiles for and runs on, by the name that its users give."""

from __future__ import annotations

import re
from typing import Any, Final

from topos.errors import ArgumentError, UnavailableError

__all__ = ["DEVICE", "device_of", "place_of"]

DEVICE: Final = "device"
NAME: Final = re.compile(r"([A-Za-z_]\w*)(?::(\d{1,9}))?")


def device_of(name: object) -> Any:
    """Returns the device called `name`, or jax's default one for None.

    A name is that of a PJRT platform, `cpu`, `cuda`, `rocm`, `tpu` or a plugin's, and maybe a
    number among this process's devices of it, as in `cuda:1`; without one it is the first. Raises
    `ArgumentError` for what is no such name, and `UnavailableError` for a device that is not here.
    """
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"device needs a name such as 'cpu' or 'cuda:1', got {name!r}")
    matched = NAME.fullmatch("" if name is None else name)
    if name is not None and matched is None:
        raise ArgumentError(f"device needs a name such as 'cpu' or 'cuda:1', got {name!r}")
    if matched is None:
        return _default()
    platform, number = matched.group(1).lower(), int(matched.group(2) or 0)
    devices = _devices(platform)
    if number >= len(devices):
        there = ", ".join(_present())
        raise UnavailableError(f"xla has no device {name!r} here; there are {there}")
    return devices[number]


def place_of(device: Any) -> str:
    """Returns what tells the memory of `device` from that of any other."""
    return f"xla {device.platform}:{device.id}"


def _default() -> Any:
    from jax.extend.backend import get_default_device

    try:
        return get_default_device()
    # A platform that JAX_PLATFORMS asks for may fail to start.
    except RuntimeError as error:
        raise UnavailableError(f"xla has no device to run on: {error}") from error


def _devices(platform: str) -> list[Any]:
    import jax

    try:
        return list(jax.local_devices(backend=platform))
    # jax says so where the platform is unknown, absent, or fails to start.
    except RuntimeError:
        return []


def _present() -> list[str]:
    from jax.extend.backend import backends

    return [
        f"{platform}:{number}"
        for platform, client in backends().items()
        for number in range(len(client.local_devices()))
    ]
