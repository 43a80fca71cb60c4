"""The device that the XLA adapter compiles for and runs on, by the name that its users give."""

from __future__ import annotations

import os
import re
from typing import Any, Final

from topos.errors import ArgumentError, UnavailableError

DEVICE: Final = "device"
NAME: Final = re.compile(r"([A-Za-z_]\w*)(?::(\d{1,9}))?")
# The process whose devices these are, once there are any; a fork has it from its parent.
_OWNER: Final[dict[str, int]] = {}


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
    _OWNER.setdefault("process", os.getpid())
    if matched is None:
        return _default()
    platform, number = matched.group(1).lower(), int(matched.group(2) or 0)
    devices = _devices(platform)
    if number >= len(devices):
        there = ", ".join(_present())
        raise UnavailableError(f"xla has no device {name!r} here; there are {there}")
    return devices[number]


def require_own() -> None:
    """Raises `UnavailableError` in a fork of the process that started XLA.

    The compiler's threads stayed there: it would wait for them for ever. Calls go on in a fork.
    """
    if _OWNER.get("process") not in (None, os.getpid()):
        raise UnavailableError(
            "xla makes modules in the process that started it alone, and this one is a fork of it: "
            "compile or deserialize before the fork, or start the process by spawn"
        )


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
