"""The walk over the functions of a module, from `@main` to all that it calls.

It gives every value its static type. Small integers are computed on the way, for
shapes come from them; what they alone computed is left out. A function has a copy for each
signature that it is called with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy.typing as npt

from topos.errors import ArgumentError, UnsupportedError, VerifyError
from topos.stablehlo.dialect import find
from topos.stablehlo.dialect._shardings import meshes_of
from topos.stablehlo.ir import Function, Module, Operation, Parameter, Tensor, Type
from topos.stablehlo.shapes import agree
from topos.stablehlo.specialize.body import Body, Context
from topos.stablehlo.specialize.retyping import is_static
from topos.stablehlo.specialize.shape_arithmetic import folds
from topos.stablehlo.specialize.unused import reached, without_unused
from topos.stablehlo.specialize.values import Value, Variant, union
from topos.stablehlo.traits import Trait

__all__ = ["specialized", "specialized_for"]

Array = npt.NDArray[Any]
# Functions that call one another twice each may have twice the copies a level.
_MOST_COPIES = 4096

M = TypeVar("M", bound=Module)


def specialized(module: M, argument_types: Sequence[Tensor]) -> M:
    """Returns a verified module whose `@main` takes `argument_types`, with static types only.

    Functions that `@main` does not reach are left out. Raises `ArgumentError` for types that are
    not those of `@main` and for a shape assertion that does not hold, `VerifyError` where the
    shapes break a rule, and `UnsupportedError` where they do not tell every type.
    """
    return specialized_for(module, argument_types, {})[0]


def specialized_for(
    module: M, argument_types: Sequence[Tensor], numbers: Mapping[int, Array]
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
        Value(type, type != stated.type, numbers.get(position))
        for position, (type, stated) in enumerate(zip(argument_types, main.arguments, strict=True))
    ]
    try:
        variant = copies.variant("main", tuple(values), None)
    except RecursionError:
        raise UnsupportedError("calls or regions nested this deep", main.line) from None
    return module._replace(functions=copies.made()), variant.consulted & numbers.keys()


def _demand_arguments(main: Function, types: Sequence[Tensor]) -> None:
    if len(types) != len(main.arguments):
        raise ArgumentError(f"the module takes {len(main.arguments)} arguments, got {len(types)}")
    for position, (type, stated) in enumerate(zip(types, main.arguments, strict=True)):
        if not is_static(type) or not agree(type, stated.type):
            raise ArgumentError(f"argument {position} must be {stated.type}, got {type}")


class _Copies:
    """The functions of a module, each with its copies by signature."""

    def __init__(self, module: Module, functions: Mapping[str, Function]) -> None:
        self._context = Context(functions, meshes_of(module.others), self.variant)
        self._functions = functions
        self._variants: dict[str, list[Variant]] = {name: [] for name in functions}
        self._made: dict[str, Function] = {}
        self._pure: set[str] = set()
        self._open: list[tuple[str, tuple[Type, ...]]] = []

    def made(self) -> tuple[Function, ...]:
        """Returns the copies that `@main` reaches, those of one function where it stood."""
        ordered = [each.name for copies in self._variants.values() for each in copies]
        return reached({name: self._made[name] for name in ordered}, ["main"])

    def variant(self, name: str, values: tuple[Value, ...], at: Operation | None) -> Variant:
        """Returns the copy of a function for such arguments, made unless there is one.

        `at` is the operation that names it.
        """
        for each in self._variants[name]:
            if each.takes(values):
                return each
        signature = (name, tuple([value.type for value in values]))
        if at is not None and signature in self._open:
            reason = f"@{name} calls itself, which is not supported"
            raise UnsupportedError(reason, at.line, at.column)
        if len(self._made) + len(self._open) > _MOST_COPIES:
            function = self._functions[name]
            reason = f"@{name} and others called with more than {_MOST_COPIES} sets of shapes"
            raise UnsupportedError(reason, function.line, function.column)
        self._open.append(signature)
        made = self._copied(self._functions[name], values)
        self._open.pop()
        self._variants[name].append(made)
        return made

    def _copied(self, function: Function, values: tuple[Value, ...]) -> Variant:
        if function.body is None:
            reason = f"@{function.name} has no body"
            raise UnsupportedError(reason, function.line, function.column)
        body = Body(self._context)
        given = [
            Value(value.type, value.changed, value.array, frozenset({index}))
            for index, value in enumerate(values)
        ]
        region, results = body.region(function.body, tuple(given))
        region = without_unused(region, self._is_pure)
        name = self._named(function.name)
        self._made[name] = function._replace(
            name=name,
            arguments=_retyped(function.arguments, values),
            results=_retyped(function.results, results),
            body=region,
        )
        is_pure = all(map(self._is_pure, region.blocks[0].operations[:-1]))
        if is_pure:
            self._pure.add(name)
        consulted = frozenset(body.consulted)
        return Variant(name, values, consulted, union(results), results, is_pure)

    def _is_pure(self, operation: Operation) -> bool:
        """Returns whether an operation does nothing but make its results."""
        definition = find(operation.name)
        if definition is None:
            return False
        if definition.calls:
            return operation.attributes[definition.calls] in self._pure
        return Trait.CONSTANT in definition.traits or folds(definition)

    def _named(self, name: str) -> str:
        """Returns `name` for the first copy, and one that no function has for any other."""
        if name not in self._made:
            return name
        number = len(self._variants[name])
        while f"{name}_{number}" in self._functions or f"{name}_{number}" in self._made:
            number += 1
        return f"{name}_{number}"


def _retyped(stated: tuple[Parameter, ...], values: tuple[Value, ...]) -> tuple[Parameter, ...]:
    pairs = zip(stated, values, strict=True)
    return tuple([parameter._replace(type=value.type) for parameter, value in pairs])
