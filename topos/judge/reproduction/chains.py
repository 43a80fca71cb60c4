"""Chains: some operations of a module's @main as a module of their own, with the oracle's values.

What the other operations would compute are arguments of it, and what they would use its results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from topos.judge.bisection.cutting import watched
from topos.runtimes.interpreter.program import Array
from topos.runtimes.interpreter.run import built
from topos.stablehlo import Module
from topos.stablehlo.dialect import definitions
from topos.stablehlo.fresh_names import FreshNames, names_in
from topos.stablehlo.ir import (
    Block,
    Function,
    Operation,
    Parameter,
    Region,
    Tensor,
    Type,
    Typed,
    result_names,
)
from topos.stablehlo.rewriting import rewritten
from topos.stablehlo.scope import captured
from topos.stablehlo.walks import called_first

# An argument with this attribute gives its buffer to the result of that number.
ALIASING: Final = "tf.aliasing_output"


class Part(NamedTuple):
    """A module with its arguments."""

    module: Module
    arguments: tuple[Array, ...]


@dataclass(frozen=True)
class Chains:
    """A module of which parts are taken; `arguments` are those of its @main."""

    module: Module
    arguments: tuple[Array, ...]

    @property
    def main(self) -> Function:
        """The function whose operations are chosen from."""
        return self.module.function()

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The operations of @main but its return."""
        return _block(self.main).operations[:-1]

    @cached_property
    def places(self) -> list[int]:
        """The numbers of the operations that are no constants, which follow what uses them."""
        return [place for place, each in enumerate(self.operations) if not _is_constant(each)]

    @cached_property
    def returned(self) -> tuple[str, ...]:
        """The names of what @main returns."""
        return tuple([self._own(each) for each in _block(self.main).operations[-1].operands])

    @cached_property
    def _types(self) -> dict[str, Type]:
        types = {each.name: each.type for each in self.main.arguments}
        for operation in self.operations:
            types.update(zip(operation.results, operation.result_types, strict=True))
        return types

    @cached_property
    def _values(self) -> Mapping[str, Array]:
        """What the oracle computes for every tensor of @main, by its name."""
        given = dict(zip([each.name for each in self.main.arguments], self.arguments, strict=True))
        cut = watched(self.module)
        if not cut.values:
            return given
        taken = [given[each.name] for each in cut.module.function().arguments]
        return given | dict(zip(cut.values, built(cut.module)(*taken), strict=True))

    def _own(self, name: str) -> str:
        """Returns the name of a value alone, where `name` is what several results share."""
        return f"{name}#0" if f"{name}#0" in self._types else name

    def _used(self, operation: Operation) -> set[str]:
        names = (*operation.operands, *captured(operation.regions))
        return {self._own(name) for name in names}

    def part(self, places: Sequence[int], results: Sequence[str] | None = None) -> Part | None:
        """Returns the operations at `places` with the constants they use, as a module.

        It returns `results`, or else all that is used outside of it. `None` where nothing is, or
        where it would take or return a value that is no tensor.
        """
        inside = self._with_constants({*places})
        if results is None:
            results = self.living(inside)
        defined = {name for place in inside for name in self.operations[place].results}
        used = {name for place in inside for name in self._used(self.operations[place])}
        taken = [name for name in self._types if name in (used | {*results}) - defined]
        types = [self._types[name] for name in (*taken, *results)]
        known = all(name in self._values for name in taken)
        if not results or not known or not all(isinstance(type, Tensor) for type in types):
            return None
        main = self._written(inside, taken, results)
        functions = {each.name: each for each in self.module.functions} | {"": main}
        reached = {*called_first(functions, [""])}
        called = [each for each in self.module.functions if each.name in reached]
        module = self.module._replace(functions=(main, *called))
        return Part(module, tuple([self._values[name] for name in taken]))

    def living(self, places: Sequence[int]) -> list[str]:
        """Returns what some operations compute and others use, first what @main returns."""
        defined = {
            name
            for place in places
            if not _is_constant(self.operations[place])
            for name in self.operations[place].results
        }
        others = [each for place, each in enumerate(self.operations) if place not in {*places}]
        used = {name for each in others for name in self._used(each)}
        first = [name for name in dict.fromkeys(self.returned) if name in defined]
        return [*first, *[each for each in self._types if each in (used & defined) - {*first}]]

    def _with_constants(self, places: set[int]) -> list[int]:
        used = {name for place in places for name in self._used(self.operations[place])}
        constants = [
            place
            for place, each in enumerate(self.operations)
            if _is_constant(each) and not used.isdisjoint(each.results)
        ]
        return sorted({*places, *constants})

    def _written(
        self, places: Sequence[int], taken: Sequence[str], results: Sequence[str]
    ) -> Function:
        attributes = {each.name: self._attributes(each, results) for each in self.main.arguments}
        inside = [region for each in self.operations for region in each.regions]
        known = [*self._types, *[name for region in inside for name in names_in(region)]]
        names = _names(taken, known)
        arguments = tuple(
            [
                Parameter(names.get(name, name), self._types[name], attributes.get(name, {}))
                for name in taken
            ]
        )
        types = tuple([self._types[name] for name in results])
        end = Operation("func.return", (), tuple(results), {}, (), types, (), 0, 0)
        operations = (*[self.operations[place] for place in places], end)
        body = Region((Block(arguments, operations),))
        if names:
            body = rewritten(body, lambda each: _renamed(each, names))
        outcomes = tuple([Parameter("", type, {}) for type in types])
        return Function("main", arguments, outcomes, {}, body, 0, 0)

    def _attributes(self, argument: Parameter, results: Sequence[str]) -> dict[str, Any]:
        """Returns the attributes of an argument, whose aliased result may stand elsewhere now."""
        kept = dict(argument.attributes)
        stated = kept.pop(ALIASING, None)
        place = stated.value if isinstance(stated, Typed) else stated
        if isinstance(place, int) and place < len(self.returned):
            name = self.returned[place]
            if name in results:
                moved = [*results].index(name)
                kept[ALIASING] = stated._replace(value=moved) if stated != place else moved
        return kept


def _block(function: Function) -> Block:
    assert function.body is not None  # The oracle ran it.
    return function.body.blocks[0]


def _is_constant(operation: Operation) -> bool:
    defined = definitions().get(operation.name)
    return defined is not None and defined.is_constant


def _names(taken: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Returns what to call the arguments that were one of several results, such as `%1#0`."""
    fresh, names = FreshNames(known), dict[str, str]()
    for name in taken:
        if "#" in name:
            names.update(dict.fromkeys(result_names(name), fresh(name)))
    return names


def _renamed(operation: Operation, names: Mapping[str, str]) -> Operation:
    return operation._replace(
        operands=tuple([names.get(each, each) for each in operation.operands])
    )
