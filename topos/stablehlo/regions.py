"""Regions that nest: walked in order without a call for each level, and held to a depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from topos.errors import UnsupportedError
from topos.stablehlo.ir import Operation, Region
from topos.stablehlo.parser.stream import DEEPEST

__all__ = ["demand_depth", "walked"]


def walked(region: Region) -> Iterator[Operation]:
    """Yields every operation in order, before those of its regions."""
    waiting = [_operations([region])]
    while waiting:
        operation = next(waiting[-1], None)
        if operation is None:
            waiting.pop()
            continue
        yield operation
        if operation.regions:
            waiting.append(_operations(operation.regions))


def demand_depth(region: Region) -> None:
    """Raises `UnsupportedError` at an operation that more than `DEEPEST` others hold."""
    waiting = [_operations([region])]
    while waiting:
        for operation in waiting[-1]:
            if operation.regions:
                if len(waiting) > DEEPEST:
                    place = (operation.line, operation.column)
                    reason = f"regions nested this deep, more than {DEEPEST} in one another"
                    raise UnsupportedError(reason, *place)
                waiting.append(_operations(operation.regions))
                break
        else:
            waiting.pop()


def _operations(regions: Iterable[Region]) -> Iterator[Operation]:
    return iter([each for region in regions for block in region.blocks for each in block[1]])
