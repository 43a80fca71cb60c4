"""The cost analysis of a module: its operations counted, with their elements and their flops."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from topos.errors import VerifyError
from topos.stablehlo.definition import Definition, extents_of
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import (
    Dense,
    Function,
    Module,
    Operation,
    Region,
    Tensor,
    Type,
    Unranked,
    result_names,
)
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import ELEMENTS
from topos.stablehlo.walks import called_first

Types = dict[str, Type]


class Count(NamedTuple):
    """How often an operation runs, its flops in all, and the elements that it computes on."""

    name: str
    runs: int
    flops: int
    elements: tuple[str, ...]


class CostAnalysis(NamedTuple):
    """The operations of a run of `@main`, the commonest first, and the sum of them all.

    `constant_bytes` is what the constants of the text would take as plain arrays. `open_runs` is
    how many of the runs have a tensor of an open extent, which counts as no element: where there
    are any, `specialize` the module for the flops. Of an `if` or a `case` the branch with the most
    flops is counted, and no other.
    """

    arguments: tuple[str, ...]
    results: tuple[str, ...]
    operations: tuple[Count, ...]
    total: Count
    constant_bytes: int
    open_runs: int = 0


def cost_analysis(module: Module) -> CostAnalysis:
    """Returns what a run of `@main` in a verified module executes, a loop's body counted once.

    A reduction, whether of an axis, of windows or of scattered updates, runs its body once for each
    element that it combines, and a sort its comparator ceil(log2(n)) times for each element of an
    axis of n. Of the branches of an `if` or a `case` the one with the most flops counts, as in
    XLA's analysis: but for loops, no run takes more flops. Where two have as many, the one that
    runs more operations counts.

    Raises `VerifyError` where there is no `@main`.
    """
    functions = {function.name: function for function in module.functions}
    if "main" not in functions:
        raise VerifyError("a module needs a function @main", 1)
    taker = _Taker(functions)
    for name in called_first(functions, ["main"]):
        taker.take(name)
    tally = taker.function("main")
    main = functions["main"]
    counts = [
        Count(name, tally.counts[name], tally.flops[name], tuple(sorted(tally.elements[name])))
        for name in sorted(tally.counts, key=lambda name: (-tally.counts[name], name))
    ]
    elements = sorted({element for each in counts for element in each.elements})
    total = Count("total", tally.counts.total(), tally.flops.total(), tuple(elements))
    return CostAnalysis(
        tuple(str(parameter.type) for parameter in main.arguments),
        tuple(str(parameter.type) for parameter in main.results),
        tuple(counts),
        total,
        taker.constant_bytes,
        tally.open_runs,
    )


class _Tally:
    """What some operations add up to."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.flops: Counter[str] = Counter()
        self.elements: defaultdict[str, set[str]] = defaultdict(set)
        self.open_runs = 0

    @property
    def weight(self) -> tuple[int, int]:
        """The flops and the runs in all, by which branches are compared."""
        return self.flops.total(), self.counts.total()

    def count(self, view: Definition, times: int) -> None:
        name, types = view.name, (*view.operands, *view.results)
        self.counts[name] += times
        self.open_runs += times if any(map(_is_open, types)) else 0
        self.flops[name] += times * view.flops()
        self.elements[name].update(type.element for type in types if isinstance(type, Tensor))

    def add(self, other: _Tally, times: int) -> None:
        self.open_runs += times * other.open_runs
        for name, count in other.counts.items():
            self.counts[name] += times * count
            self.flops[name] += times * other.flops[name]
            self.elements[name] |= other.elements[name]


def _is_open(type: Type) -> bool:
    return isinstance(type, Unranked) or (isinstance(type, Tensor) and None in type.shape)


def _bytes(types: Sequence[Type]) -> int:
    return sum(
        math.prod(extents_of(type)) * ELEMENTS[type.element].itemsize
        for type in types
        if isinstance(type, Tensor) and type.element in ELEMENTS
    )


class _Taker:
    """The counts of each function, taken once and added as often as it is called."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._taken: dict[str, _Tally] = {}
        self.constant_bytes = 0

    def take(self, name: str) -> None:
        """Counts a function after those that it calls."""
        body = self._functions[name].body
        tally = _Tally()
        if body is not None:
            self._region(body, {}, tally, 1)
        self._taken[name] = tally

    def function(self, name: str) -> _Tally:
        """Returns the tally of a function; one that is missing or calls itself adds nothing."""
        return self._taken.get(name) or _Tally()

    def _region(self, region: Region, outer: Types, tally: _Tally, times: int) -> None:
        for block in region.blocks:
            types = dict(outer)
            types.update((argument.name, argument.type) for argument in block.arguments)
            for operation in block.operations:
                self._operation(operation, types, tally, times)

    def _operation(self, operation: Operation, types: Types, tally: _Tally, times: int) -> None:
        definition = find(operation.name) or Definition
        if Trait.TERMINATOR in definition.traits:
            return
        operands = tuple([types[name] for name in operation.operands if name in types])
        results = operation.result_types
        for name, type in zip(operation.results, results, strict=False):
            types.update(dict.fromkeys(result_names(name), type))
        if definition.calls:
            tally.add(self.function(str(operation.attributes.get(definition.calls))), times)
            return
        if isinstance(operation.attributes.get("value"), Dense):
            self.constant_bytes += _bytes(results)
        view = definition(operation, operands, results, (None,) * len(operands))
        tally.count(view, times)
        if Trait.CHOOSES in definition.traits:
            tally.add(self._costliest(operation.regions, types), times)
            return
        for index, region in enumerate(operation.regions):
            self._region(region, types, tally, times * view.region_runs(index))

    def _costliest(self, branches: Sequence[Region], types: Types) -> _Tally:
        tallies = [_Tally() for _ in branches]
        for branch, tally in zip(branches, tallies, strict=True):
            self._region(branch, types, tally, 1)
        return max(tallies, key=lambda tally: tally.weight, default=_Tally())
