"""Walks over calls and regions: what each function calls, in order, and how deep they nest."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from topos.errors import UnsupportedError
from topos.stablehlo.ir import Function, Operation, Region, Symbol
from topos.stablehlo.parser.stream import DEEPEST

# A call takes two of the thousand calls in one another that Python allows, a region up to three.
_DEEPEST: Final = 255


def called_first(functions: Mapping[str, Function], starts: Iterable[str]) -> list[str]:
    """Returns the names of the functions that `starts` reach, each after those that it calls.

    Of functions that call one another in a circle, the one that is reached first stands last.
    """
    order: list[str] = []
    seen: set[str] = set()
    for name in starts:
        if name in seen:
            continue
        seen.add(name)
        path = [(name, _named(functions[name], functions))]
        while path:
            inner = next((each for each in path[-1][1] if each not in seen), None)
            if inner is None:
                order.append(path.pop()[0])
            else:
                seen.add(inner)
                path.append((inner, _named(functions[inner], functions)))
    return order


def depth_of(function: Function, depths: Mapping[str, int], most: int = _DEEPEST) -> int:
    """Returns how many calls and regions of a function's run stand in one another at most.

    `depths` has those of the functions that it calls. Raises `UnsupportedError` at the operation
    that leads to the most of them, where these are more than `most`.
    """
    deepest = 0
    at: Operation | None = None
    for operation, level in _operations(function):
        inner = max([1 + depths.get(each, 0) for each in symbols(operation)], default=0)
        if level + inner > deepest:
            deepest, at = level + inner, operation
    if at is not None and deepest > most:
        reason = f"{at.name} leads to {deepest} calls and regions in one another"
        raise UnsupportedError(f"{reason}, at most {most} are supported", *at.place)
    return deepest


def demand_depth(functions: Mapping[str, Function], main: Function, most: int) -> None:
    """Refuses a function from which more than `most` calls and regions stand in one another."""
    depths: dict[str, int] = {}
    for name in called_first(functions, [main.name]):
        depths[name] = depth_of(functions[name], depths, most if name == main.name else sys.maxsize)


def _named(function: Function, functions: Mapping[str, Function]) -> Iterator[str]:
    for operation, _ in _operations(function):
        yield from (name for name in symbols(operation) if name in functions)


def _operations(function: Function) -> Iterator[tuple[Operation, int]]:
    """Yields every operation, and how many regions of the function it stands in."""
    waiting: list[tuple[Region, int]] = [(function.body, 0)] if function.body else []
    while waiting:
        region, level = waiting.pop()
        for block in region.blocks:
            for operation in block.operations:
                yield operation, level
                waiting.extend((inner, level + 1) for inner in operation.regions)


def symbols(operation: Operation) -> Iterator[str]:
    """Yields the names of the functions that the attributes of an operation name."""
    for value in operation.attributes.values():
        parts: tuple[Any, ...] = value if type(value) is tuple else (value,)
        yield from (part for part in parts if isinstance(part, Symbol))


def walked(region: Region) -> Iterator[Operation]:
    """Yields every operation in order, before those of its regions."""
    waiting = [_of_regions([region])]
    while waiting:
        operation = next(waiting[-1], None)
        if operation is None:
            waiting.pop()
            continue
        yield operation
        if operation.regions:
            waiting.append(_of_regions(operation.regions))


def demand_shallow(region: Region) -> None:
    """Raises `UnsupportedError` at an operation that more than `DEEPEST` others hold."""
    waiting = [_of_regions([region])]
    while waiting:
        for operation in waiting[-1]:
            if operation.regions:
                if len(waiting) > DEEPEST:
                    reason = f"regions nested this deep, more than {DEEPEST} in one another"
                    raise UnsupportedError(reason, *operation.place)
                waiting.append(_of_regions(operation.regions))
                break
        else:
            waiting.pop()


def _of_regions(regions: Iterable[Region]) -> Iterator[Operation]:
    return iter([each for region in regions for block in region.blocks for each in block[1]])
