"""The metal backend: the graphics processor of Apple silicon, by way of mlx; float32 alone."""

from __future__ import annotations

import platform
import sys
from functools import cache
from importlib.util import find_spec
from typing import Final

from topos.backend.device import Device
from topos.backend.formula import MAPS, Formula, Precision

# mlx has every map, two of them by other names.
_RENAMED: Final = {Formula.LN: "log", Formula.LOGISTIC: "sigmoid"}
DEVICE: Final = Device(
    "mlx.core",
    {formula: _RENAMED.get(formula, formula.value) for formula in MAPS},
    (Precision.F32,),
    "mlx states no bound, and none was measured",
    into="array",
    fewest=1 << 20,
)
TABLE: Final = DEVICE.table()
status: Final = DEVICE.status


@cache
def absence() -> str | None:
    """Returns why this machine has no Metal or this install no mlx, or `None`."""
    machine = platform.machine()
    if (sys.platform, machine) != ("darwin", "arm64"):
        return f"it needs Apple silicon, got {sys.platform} on {machine}"
    return None if find_spec("mlx") is not None else "it needs mlx: pip install mlx"
