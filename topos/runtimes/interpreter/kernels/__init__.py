"""The kernels of operations: one file a family, named as the file that defines the family."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from topos.runtimes.interpreter.context import Builder, Builders
from topos.stablehlo.definition import Definition

__all__ = ["builder_of"]


def builder_of(definition: type[Definition]) -> Builder | None:
    """Returns the builder of an operation, whose family is loaded now, or `None`."""
    return _builders(definition.__module__).get(definition)


@cache
def _builders(module: str) -> Builders:
    name = f"{__name__}.{module.rpartition('.')[2]}"
    builders: Builders = import_module(name).BUILDERS if find_spec(name) else {}
    return builders
