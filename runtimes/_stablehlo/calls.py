"""The calls of a module: which functions each one names, and how deep they call one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from topos.errors import UnsupportedError
from topos.runtimes._stablehlo.syntax import Function, Operation, Region, Symbol

__all__ = ["called_first", "demand_shallow"]

# A call takes two of the thousand calls in one another that Python allows, a region up to three.
_DEEPEST: Final = 256


def called_first(functions: Mapping[str, Function]) -> list[str]:
    """Returns the names of all functions, each after those that it calls.

    Of functions that call one another in a circle, the one that comes first stands last.
    """
    order: list[str] = []
    seen: set[str] = set()
    for name in functions:
        if name in seen:
            continue
        seen.add(name)
        open_ = [(name, _named(functions[name], functions))]
        while open_:
            inner = next((each for each in open_[-1][1] if each not in seen), None)
            if inner is None:
                order.append(open_.pop()[0])
            else:
                seen.add(inner)
                open_.append((inner, _named(functions[inner], functions)))
    return order


def demand_shallow(functions: Mapping[str, Function], order: list[str]) -> None:
    """Refuses functions, `order` being theirs, whose calls and regions nest too deep to be run.

    Raises `UnsupportedError` at the call that is too deep.
    """
    depths: dict[str, int] = {}
    for name in order:
        deepest = 0
        for operation, level in _operations(functions[name]):
            inner = max([depths.get(each, 0) for each in _symbols(operation)], default=0)
            deepest = max(deepest, level + inner + 1)
            if deepest > _DEEPEST:
                reason = f"{operation.name} of functions that call one another this deep"
                most = f"more than {_DEEPEST} calls and regions"
                raise UnsupportedError(f"{reason}, {most}", operation.line, operation.column)
        depths[name] = deepest


def _named(function: Function, functions: Mapping[str, Function]) -> Iterator[str]:
    for operation, _ in _operations(function):
        yield from (name for name in _symbols(operation) if name in functions)


def _operations(function: Function) -> Iterator[tuple[Operation, int]]:
    """Yields every operation, and how many regions of the function it stands in."""
    waiting: list[tuple[Region, int]] = [(function.body, 0)] if function.body else []
    while waiting:
        region, level = waiting.pop()
        for block in region.blocks:
            for operation in block.operations:
                yield operation, level
                waiting.extend((inner, level + 1) for inner in operation.regions)


def _symbols(operation: Operation) -> Iterator[str]:
    for value in operation.attributes.values():
        parts: tuple[Any, ...] = value if type(value) is tuple else (value,)
        yield from (part for part in parts if isinstance(part, Symbol))
