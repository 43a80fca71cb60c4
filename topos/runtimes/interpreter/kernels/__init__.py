"""The kernels of operations: one file a family, named as the file that defines the family."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from topos.runtimes.interpreter.context import Builder, Builders
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import family_of

__all__ = ["builder_of"]


def builder_of(definition: type[Definition]) -> Builder | None:
    """Returns the builder of an operation, whose family is loaded now, or `None`."""
    return _builders(family_of(definition.operation_name) or "").get(definition)


@cache
def _builders(family: str) -> Builders:
    name = f"{__name__}.{family}"
    builders: Builders = import_module(name).BUILDERS if find_spec(name) else {}
    return builders
