"""Reading of modules to export: static types, named arguments and results that a bundle holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from topos.bundle.module_names import Names, names_in
from topos.bundle.subject import Slot
from topos.errors import ArgumentError, BundleError, FeedError
from topos.payload import CARRIED, TensorType
from topos.stablehlo import Module
from topos.stablehlo.forms import ModuleLike, text_of
from topos.stablehlo.ir import Function, Parameter, Tensor
from topos.stablehlo.read import read
from topos.stablehlo.types import extents

Shapes = Mapping[str, Sequence[int]]
"""The shapes of arguments that a module leaves open, by name."""


class ReadModule(NamedTuple):
    """A verified module of static types, its text, and what `@main` takes and returns."""

    module: Module
    text: str
    arguments: tuple[Slot, ...]
    results: tuple[Slot, ...]


def read_modules(
    modules: ModuleLike | Sequence[ModuleLike],
    names: Names | None,
    shapes: Shapes | None,
    rows: Sequence[int],
) -> list[ReadModule]:
    """Returns modules in any form, read, verified, named and made static.

    A module that leaves leading extents open becomes one for each of `rows`. Raises what reading a
    text does, `BundleError` for a module that no bundle holds, and `FeedError` for a shape of no
    argument.
    """
    every: Any = modules if isinstance(modules, list | tuple) else [modules]
    if not every:
        raise BundleError("a bundle needs one module or more, got none")
    if not isinstance(rows, Sequence) or not all(type(each) is int and each > 0 for each in rows):
        raise ArgumentError(f"rows are a sequence of numbers from 1 on, got {rows!r}")
    return [_read(each, names, shapes or {}, count) for each in every for count in rows or (None,)]


def _read(like: ModuleLike, names: Names | None, shapes: Shapes, rows: int | None) -> ReadModule:
    text = text_of(like)
    module = Module(*read(text))
    main = _main(module)
    named = names_in(module, text_of(like, locations=True), names)
    found = _tensors("argument", named.arguments, main.arguments)
    types = _static(found, shapes, rows)
    if types != found:
        text = str(module.specialize([*types.values()]))
        # The places of errors are those of the text that the bundle has.
        module = Module(*read(text))
        main = _main(module)
    results = _tensors("result", named.results, main.results)
    return ReadModule(module, text, _slots(types), _slots(results))


def _main(module: Module) -> Function:
    names = [function.name for function in module.functions]
    if "main" not in names:
        has = ", ".join(f"@{name}" for name in names) or "none"
        raise BundleError(f"a bundle needs a module with a function @main, got {has}")
    main = module.function()
    if main.body is None:
        raise BundleError("a bundle needs @main with a body, got a declaration")
    if not main.results:
        raise BundleError("a bundle needs a result of @main, got none")
    return main


def _tensors(kind: str, names: Sequence[str], parameters: Sequence[Parameter]) -> dict[str, Tensor]:
    """Returns types by name; raises `BundleError` for what is none of a bundle's."""
    found = {}
    for name, parameter in zip(names, parameters, strict=True):
        type = parameter.type
        if not isinstance(type, Tensor) or type.encoding:
            raise BundleError(f"a bundle needs tensors, got the {kind} {name!r} of {type}")
        if _element(type) not in CARRIED:
            known = ", ".join(CARRIED)
            raise BundleError(f"a bundle holds {known}, got the {kind} {name!r} of {type}")
        found[name] = type
    return found


def _static(found: Mapping[str, Tensor], shapes: Shapes, rows: int | None) -> dict[str, Tensor]:
    """Returns the types of all arguments, those that are open as `shapes` and `rows` say."""
    stated = ", ".join(f"{name}: {type}" for name, type in found.items()) or "none"
    for name in shapes:
        if name not in found:
            raise FeedError(f"a shape is given for {name!r}, and the arguments are {stated}")
    given = {
        # A manifest has no integers of numpy.
        name: tuple(int(each) if isinstance(each, np.integer) else each for each in shape)
        for name, shape in ((name, shapes.get(name, type.shape)) for name, type in found.items())
    }
    if rows is not None and not any(shape[:1] == (None,) for shape in given.values()):
        but = f", with shapes of {', '.join(shapes)}" if shapes else ""
        told = f"rows are for leading extents that a module leaves open, got {stated}{but}"
        raise BundleError(told)
    types = {}
    for name, type in found.items():
        shape = given[name]
        if rows is not None and shape[:1] == (None,):
            shape = (rows, *shape[1:])
        if None in shape:
            raise BundleError(
                f"a bundle needs static shapes, and @main leaves {name}: {type} open: give its"
                " shape, or rows where the leading extent counts those"
            )
        types[name] = type._replace(shape=shape)
    return types


def _element(type: Tensor) -> str:
    return "bool" if type.element == "i1" else type.element


def _slots(types: Mapping[str, Tensor]) -> tuple[Slot, ...]:
    return tuple(
        Slot(name, TensorType(extents(type), CARRIED[_element(type)]))
        for name, type in types.items()
    )
