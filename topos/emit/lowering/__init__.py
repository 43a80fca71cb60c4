"""Lowering rules: one file a family of operations.

Importing a file fills the table of `topos.emit.writer`.
"""

from topos.emit.lowering import elementwise, layout, reduction, selection

__all__ = ["elementwise", "layout", "reduction", "selection"]
