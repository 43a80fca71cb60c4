"""The cuda backend: an NVIDIA device by way of cupy, which loads where it is first used."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Final

from topos.backend.device import Device
from topos.backend.formula import Formula, Precision

DEVICE: Final = Device(
    "cupy",
    {
        Formula.EXP: "exp",
        Formula.EXPM1: "expm1",
        Formula.LN: "log",
        Formula.LOG1P: "log1p",
        Formula.SQRT: "sqrt",
        Formula.TANH: "tanh",
        Formula.SIN: "sin",
        Formula.COS: "cos",
    },
    (Precision.F64, Precision.F32),
    "not measured on a device",
    into="asarray",
    back="asnumpy",
    fewest=1 << 22,
)
TABLE: Final = DEVICE.table()
status: Final = DEVICE.status


@cache
def absence() -> str | None:
    """Returns why this install has no cupy, or `None`."""
    return None if find_spec("cupy") is not None else "it needs cupy: pip install cupy-cuda12x"
