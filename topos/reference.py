"""The oracle's kernels, re-exported for differential tests outside this project."""

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
