"""The walk over the functions of a module, from `@main` to all that it calls.

It gives every value its static type. Small integers are computed on the way, for
shapes come from them; what they alone computed is left out. A function has a copy for each
signature that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy.typing as npt

from topos.errors import ArgumentError, UnsupportedError, VerifyError
from topos.stablehlo.dialect import find
from topos.stablehlo.dialect._shardings import meshes_of
from topos.stablehlo.fresh_names import FreshNames
from topos.stablehlo.ir import Block, Function, Module, Operation, Parameter, Region, Type
from topos.stablehlo.shapes import agree
from topos.stablehlo.specialize.body import Body, Context
from topos.stablehlo.specialize.retyping import is_static
from topos.stablehlo.specialize.shape_arithmetic import folds
from topos.stablehlo.specialize.values import Value, Variant, Variants, numbers_at, union
from topos.stablehlo.traits import Trait
from topos.stablehlo.walks import called_first, demand_depth

Array = npt.NDArray[Any]
Signature = tuple[str, tuple[Type, ...]]
# Functions that call one another with two sets of shapes each have twice the copies a level.
_MOST_COPIES: Final = 4096
# How many sets of numbers are followed through functions that have a copy already; each level of
# calls may double them. Those beyond are computed in the run.
MOST_FOLLOWED: Final = 2048
# A call takes five of the thousand calls in one another that Python allows, a region four.
_DEEPEST: Final = 128
M = TypeVar("M", bound=Module)


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


def specialized(module: M, argument_types: Sequence[Type]) -> M:
    """Returns a verified module whose `@main` takes `argument_types`, with static types only.

    Functions that `@main` does not reach are left out. Raises `ArgumentError` for types that are
    not those of `@main` and for a shape assertion that does not hold, `VerifyError` where the
    shapes break a rule, and `UnsupportedError` where they do not tell every type.
    """
    return specialized_for(module, argument_types, {})[0]


def specialized_for(
    module: M, argument_types: Sequence[Type], numbers: Mapping[int, Array]
) -> tuple[M, frozenset[int]]:
    """Returns `module` specialized as `specialized` does, and which of `numbers` shaped it.

    `numbers` has the elements of arguments that may be sizes, by position. The module is right for
    every call in which those that shaped it are the same.
    """
    functions = {function.name: function for function in module.functions}
    if "main" not in functions:
        raise VerifyError("a module needs a function @main", 1)
    main = functions["main"]
    _demand_arguments(main, argument_types)
    copies = _Copies(module, functions)
    values = [
        Value(type, array=numbers.get(position)) for position, type in enumerate(argument_types)
    ]
    demand_depth(functions, main, _DEEPEST)
    try:
        variant = copies.variant("main", tuple(values), None)
    except RecursionError:
        reason = "the calls and regions of @main nest deeper than Python's stack has room for here"
        raise UnsupportedError(reason, *main.place) from None
    return module._replace(functions=copies.made()), variant.consulted & numbers.keys()


def _demand_arguments(main: Function, types: Sequence[Type]) -> None:
    if len(types) != len(main.arguments):
        raise ArgumentError(f"the module takes {len(main.arguments)} arguments, got {len(types)}")
    for position, (type, stated) in enumerate(zip(types, main.arguments, strict=True)):
        if not is_static(type) or not agree(type, stated.type):
            raise ArgumentError(f"argument {position} must be {stated.type}, got {type}")


class _Copies:
    """The functions of a module, each with its copies by signature."""

    def __init__(self, module: Module, functions: Mapping[str, Function]) -> None:
        meshes = meshes_of(module.others)
        self._context = Context(functions, meshes, self.variant)
        self._functions = functions
        self._fresh = FreshNames([*functions, *meshes])
        self._variants: dict[Signature, Variants] = {}
        # By what shaped them, so that those that are the same are one.
        self._copies: dict[tuple[Any, ...], list[Function]] = {}
        self._made: dict[str, dict[str, Function]] = {name: {} for name in functions}
        self._count = self._repeats = 0
        self._pure: set[str] = set()
        self._open: set[str] = set()

    def made(self) -> tuple[Function, ...]:
        """Returns the copies that `@main` reaches, those of one function where it stood."""
        copies = {name: each for made in self._made.values() for name, each in made.items()}
        return reached(copies, ["main"])

    def variant(self, name: str, values: tuple[Value, ...], at: Operation | None) -> Variant:
        """Returns the copy of a function for such arguments, made unless there is one.

        `at` is the operation that names it.
        """
        signature = (name, tuple([value.type for value in values]))
        variants = self._variants.setdefault(signature, Variants())
        found = variants.of(values)
        if found is None and self._repeats >= MOST_FOLLOWED:
            values = variants.without_numbers(values)
            found = variants.of(values)
        if found is not None:
            return found
        function = self._functions[name]
        if at is not None and name in self._open:
            reason = f"@{name} calls itself, which is not supported"
            raise UnsupportedError(reason, *at.place)
        if self._count + len(self._open) > _MOST_COPIES:
            reason = f"@{name} and others called with more than {_MOST_COPIES} sets of shapes"
            raise UnsupportedError(reason, *function.place)
        if function.body is None:
            raise UnsupportedError(f"@{name} has no body", *function.place)
        self._open.add(name)
        made = self._walked(function, function.body, values)
        self._open.remove(name)
        variants.add(values, made)
        return made

    def _walked(self, function: Function, body: Region, values: tuple[Value, ...]) -> Variant:
        walk = Body(self._context, body)
        given = [value._replace(sources=frozenset({at})) for at, value in enumerate(values)]
        region, results = walk.region(body, tuple(given))
        region = without_unused(region, self._is_pure)
        copy = function._replace(
            arguments=_retyped(function.arguments, values),
            results=_retyped(function.results, results),
            body=region,
        )
        consulted = frozenset(walk.consulted)
        name = self._kept(copy, (consulted, numbers_at(consulted, values)))
        is_pure = all(map(self._is_pure, region.blocks[0].operations[:-1]))
        if is_pure:
            self._pure.add(name)
        return Variant(name, consulted, union(results), results, is_pure)

    def _kept(self, copy: Function, shaped: tuple[Any, ...]) -> str:
        """Returns the name of a copy: that of the one that is the same, where there is one."""
        types = tuple([each.type for each in copy.arguments])
        alike = self._copies.setdefault((copy.name, types, *shaped), [])
        for other in alike:
            if other._replace(name=copy.name) == copy:
                self._repeats += 1
                return other.name
        made = self._made[copy.name]
        name = self._fresh(copy.name) if made else copy.name
        made[name] = copy._replace(name=name)
        alike.append(made[name])
        self._count += 1
        return name

    def _is_pure(self, operation: Operation) -> bool:
        """Returns whether an operation does nothing but make its results."""
        definition = find(operation.name)
        if definition is None:
            return False
        if definition.calls:
            return operation.attributes[definition.calls] in self._pure
        return Trait.CONSTANT in definition.traits or folds(definition)


def _retyped(stated: tuple[Parameter, ...], values: tuple[Value, ...]) -> tuple[Parameter, ...]:
    pairs = zip(stated, values, strict=True)
    return tuple([parameter._replace(type=value.type) for parameter, value in pairs])
