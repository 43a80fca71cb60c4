"""The oracle's kernels, re-exported for differential tests outside this project.

Each function takes and returns numpy arrays, and its docstring states the definition of its bits.
docs/guides/oracle.md gives the reasons, and says how to check a value without this project.
"""

from topos.payload.kernels import (
    arithmetic,
    comparison,
    conversion,
    maps,
    power,
    product,
    reduction,
    selection,
    stable,
    window,
)

__all__ = [
    "arithmetic",
    "comparison",
    "conversion",
    "maps",
    "power",
    "product",
    "reduction",
    "selection",
    "stable",
    "window",
]
