"""Detaching: recording-phase values become the symbols that later phases speak."""

from __future__ import annotations

from typing import Any

from topos.graph.value import Value


def detach(tree: Any) -> Any:
    """Returns `tree` with every value replaced by its symbol.

    Tuples (named ones too), lists and dicts are rebuilt at any depth; everything else stays.
    """
    if isinstance(tree, Value):
        return tree.symbol
    if isinstance(tree, dict):
        return {key: detach(branch) for key, branch in tree.items()}
    if isinstance(tree, list):
        return [detach(branch) for branch in tree]
    if isinstance(tree, tuple):
        branches = [detach(branch) for branch in tree]
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
    return tree
