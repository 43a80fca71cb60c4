"""Rewriting of a region: each operation replaced by what a function returns for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from topos.errors import ArgumentError
from topos.stablehlo.given_operations import operation_of_the_tree
from topos.stablehlo.ir import Block, Operation, Region

__all__ = ["Rewrite", "rewritten"]

Rewrite = Callable[[Operation], "Operation | Sequence[Operation] | None"]


def rewritten(region: Region, rewrite: Rewrite) -> Region:
    """Returns `region` with its operations replaced, those of inner regions first."""
    blocks: list[Block] = []
    for block in region.blocks:
        operations: list[Operation] = []
        for operation in block.operations:
            inner = operation
            if operation.regions:
                regions: list[Region] = []
                # Regions nest deep, and a loop costs one call inside another less.
                for each in operation.regions:
                    regions.append(rewritten(each, rewrite))
                inner = operation._replace(regions=tuple(regions))
            outcome = rewrite(inner)
            if outcome is None:
                operations.append(inner)
            else:
                operations += [_of_the_tree(each, inner) for each in _listed(outcome)]
        blocks.append(block._replace(operations=tuple(operations)))
    return Region(tuple(blocks))


def _listed(outcome: Any) -> Sequence[Any]:
    # An operation is a tuple itself.
    single = isinstance(outcome, Operation) or not isinstance(outcome, (list, tuple))
    return [outcome] if single else outcome


def _of_the_tree(outcome: Any, inner: Operation) -> Operation:
    if not isinstance(outcome, Operation):
        got = type(outcome).__name__
        raise ArgumentError(f"a rewrite returns None, an operation or a list of them, got {got}")
    return operation_of_the_tree(outcome, inner)
