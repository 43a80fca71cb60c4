"""Lowering rules: one file a family of operations, under the names of `topos.op`.

Importing a file fills the table of `topos.emit.writer`.
"""

from topos.emit.lowering import (
    arithmetic,
    comparison,
    contraction,
    layout,
    map,
    reduction,
    selection,
    slicing,
    source,
    stable,
    window,
)

__all__ = [
    "arithmetic",
    "comparison",
    "contraction",
    "layout",
    "map",
    "reduction",
    "selection",
    "slicing",
    "source",
    "stable",
    "window",
]
