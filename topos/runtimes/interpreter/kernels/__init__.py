"""The kernels of operations: one file for one or several families of definitions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from topos.runtimes.interpreter.context import Builder, Builders
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import family_of

__all__ = ["builder_of"]

# A file has the kernels of the family of its name, and of those that stand here beside it.
_BESIDE: Final[Mapping[str, str]] = {
    "asynchronous": "collectives",
    "calling": "control",
    "chlo_broadcast": "chlo_functions",
    "comparison": "elementwise",
    "dynamic": "layout",
    "functions": "elementwise",
    "scan": "control",
    "sharding": "collectives",
    "slicing": "layout",
    "transfer": "collectives",
    "tuples": "control",
}


def builder_of(definition: type[Definition]) -> Builder | None:
    """Returns the builder of an operation, whose family is loaded now, or `None`."""
    return _builders(family_of(definition.operation_name) or "").get(definition)


@cache
def _builders(family: str) -> Builders:
    name = f"{__name__}.{_BESIDE.get(family, family)}"
    builders: Builders = import_module(name).BUILDERS if find_spec(name) else {}
    return builders
