"""The dialects: StableHLO, CHLO and what is read of others, one definition an operation.

A family of operations is a file of this folder, which is loaded when one of its operations is met.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import import_module
from importlib.resources import files
from keyword import iskeyword
from types import MappingProxyType
from typing import Any, Final

from topos.stablehlo.definition import Definition
from topos.stablehlo.traits import Trait

__all__ = ["Dialect", "definitions", "family_of", "find", "has", "names", "of_family", "with_trait"]

_DEFINED: Final = re.compile(r'^(?:@define\(|\w+ = \w+\.named\(\s*)"([^"]+)"', re.MULTILINE)
# More names than there are definitions, so that a text of strange names forgets no real one often.
_KEPT: Final = 4096


@cache
def _families() -> Mapping[str, str]:
    """Returns the file that defines each operation, read from the sources.

    Loading every file takes as long as a small module takes to run.
    """
    found: dict[str, str] = {}
    for source in sorted(files(__name__).iterdir(), key=lambda source: source.name):
        if source.name.endswith(".py"):
            family = source.name.removesuffix(".py")
            text = source.read_text(encoding="utf-8")
            found.update(dict.fromkeys(_DEFINED.findall(text), family))
    return MappingProxyType(found)


@cache
def of_family(family: str) -> Mapping[str, type[Definition]]:
    """Returns the definitions of a file by the names of their operations."""
    members = vars(import_module(f"{__name__}.{family}")).values()
    defined = [each for each in members if isinstance(each, type) and issubclass(each, Definition)]
    # A file also imports definitions of others.
    return {
        each.operation_name: each for each in defined if family_of(each.operation_name) == family
    }


def names() -> tuple[str, ...]:
    """Returns the name of every operation that is defined, sorted."""
    return tuple(sorted(_families()))


def family_of(name: str) -> str | None:
    """Returns the file that defines the operation `name`, or `None` where none does."""
    return _families().get(name)


@lru_cache(_KEPT)
def find(name: str) -> type[Definition] | None:
    """Returns the definition of the operation `name`, or `None` where there is none."""
    family = _families().get(name)
    return None if family is None else of_family(family)[name]


@cache
def definitions() -> Mapping[str, type[Definition]]:
    """Returns every definition by the name of its operation; this loads all of them."""
    found: dict[str, type[Definition]] = {}
    for family in sorted({*_families().values()}):
        found.update(of_family(family))
    return MappingProxyType(dict(sorted(found.items())))


@lru_cache(_KEPT)
def has(name: str, trait: Trait) -> bool:
    """Returns whether the operation `name` is defined and has `trait`."""
    definition = find(name)
    return definition is not None and bool(definition.traits & trait)


def with_trait(trait: Trait) -> tuple[str, ...]:
    """Returns the name of every operation that has `trait`, sorted; this loads all of them."""
    return tuple([name for name, each in definitions().items() if each.traits & trait])


class Dialect:
    """The functions that write the operations of one dialect: `dialect.chlo.erf(x)`.

    A name that Python keeps for itself takes an underscore: `dialect.while_`.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        operation = _spelled(self._prefix).get(name)
        if operation is None:
            others = [
                f"{each}.{name}" for each in ("chlo", "func", "sdy") if name in _spelled(each)
            ]
            near = others or get_close_matches(name, dir(self), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise AttributeError(f"no operation is called {self._prefix}.{name.rstrip('_')}{hint}")
        return _written(operation)

    def __dir__(self) -> list[str]:
        return sorted(_spelled(self._prefix))


def __getattr__(name: str) -> Any:
    if name in _families().values():
        # Whoever imports a family asks for it here first, and needs no function.
        return import_module(f"{__name__}.{name}")
    # `dialect.add` is `dialect.stablehlo.add`; every other dialect has its prefix.
    if name.startswith("__"):
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    if _spelled(name):
        return Dialect(name)
    return getattr(Dialect("stablehlo"), name)


def __dir__() -> list[str]:
    prefixes = {name.partition(".")[0] for name in names()}
    return sorted([*__all__, *prefixes, *dir(Dialect("stablehlo"))])


@cache
def _spelled(prefix: str) -> Mapping[str, str]:
    """Returns the operations of a dialect by the names of their functions."""
    found: dict[str, str] = {}
    for name in names():
        dialect, _, kind = name.partition(".")
        if dialect == prefix:
            spelled = kind.replace("-", "_")
            found[f"{spelled}_" if iskeyword(spelled) else spelled] = name
    return MappingProxyType(found)


@cache
def _written(operation: str) -> Any:
    return import_module("topos.stablehlo.writing").function_of(operation)
