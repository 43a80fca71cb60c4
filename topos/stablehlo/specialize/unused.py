"""What nothing uses, left out: operations of a function, and functions of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from topos.stablehlo.calls import called_first
from topos.stablehlo.ir import Block, Function, Operation, Region

__all__ = ["reached", "without_unused"]


def without_unused(
    region: Region, is_pure: Callable[[Operation], bool], used: set[str] | None = None
) -> Region:
    """Returns `region` without the pure operations whose results nothing in it uses.

    The names that it uses are added to `used`.
    """
    seen = set() if used is None else used
    blocks: list[Block] = []
    for block in region.blocks:
        kept: list[Operation] = []
        for operation in reversed(block.operations):
            if not _is_used(operation, seen) and is_pure(operation):
                continue
            regions = operation.regions
            if regions:
                inner = [without_unused(each, is_pure, seen) for each in regions]
                operation = operation._replace(regions=tuple(inner))
            seen.update(operation.operands)
            kept.append(operation)
        blocks.append(block._replace(operations=tuple(reversed(kept))))
    return Region(tuple(blocks))


def _is_used(operation: Operation, used: set[str]) -> bool:
    # The first of several results also goes by the name that they share.
    return any(
        name in used or name.removesuffix("#0") in used or f"{name}#0" in used
        for name in operation.results
    )


def reached(functions: Mapping[str, Function], starts: Iterable[str]) -> tuple[Function, ...]:
    """Returns the functions that `starts` call, and these, in the order of the module."""
    names = {*called_first(functions, starts)}
    return tuple([function for name, function in functions.items() if name in names])
