"""What a function of `dialect` takes, as Python shows it: operands, attributes, their defaults."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, Final

from topos.errors import ToposError
from topos.stablehlo.definition import Definition, Result
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import Operation
from topos.stablehlo.typed_attributes import Attribute

# What an attribute has in place of a default that must be given.
_EMPTY: Final = inspect.Parameter.empty
_POSITIONAL: Final = inspect.Parameter.POSITIONAL_ONLY
_KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY


def default_of(definition: type[Definition], attribute: Attribute[Any]) -> Any:
    """Returns what an attribute is where it is left out, `inspect.Parameter.empty` if it must be.

    It is what the definition itself reads of an operation without attributes.
    """
    bare = Operation(definition.operation_name, (), (), {}, (), None, (), 0, 0)
    try:
        return attribute.read(definition(bare, (), (), ()))
    except ToposError:
        return None if attribute.optional else _EMPTY


@cache
def required_of(name: str) -> tuple[Attribute[Any], ...]:
    """Returns the attributes of an operation that have no default."""
    definition = find(name) or Definition
    declared = definition.declared_attributes
    return tuple([each for each in declared if default_of(definition, each) is _EMPTY])


def signature_of(definition: type[Definition]) -> inspect.Signature:
    """Returns the operands, the attributes that must be given, and those that may be left out."""
    operands = [inspect.Parameter(name, _POSITIONAL) for name in definition.declared_operands]
    if not operands or definition.has_regions or definition.operand_order:
        name = "operands_and_regions" if definition.has_regions else "operands"
        operands = [inspect.Parameter(name, inspect.Parameter.VAR_POSITIONAL)]
    attributes = [
        inspect.Parameter(each.name, _KEYWORD, default=default_of(definition, each))
        for each in definition.declared_attributes
    ]
    attributes.sort(key=lambda each: each.default is not _EMPTY)
    further = [
        inspect.Parameter(name, _KEYWORD, default=None)
        for name in ("result", "attributes", "builder")
        if name not in {each.name for each in attributes}
    ]
    return inspect.Signature([*operands, *attributes, *further])


def help_of(definition: type[Definition]) -> str:
    """Returns the lines that tell of an operation's operands, regions and attributes."""
    operands = definition.operand_order or ", ".join(definition.declared_operands)
    lines = [f"Operands: {operands or 'any number of values'}."]
    if definition.has_regions:
        order = ", in this order:" if definition.region_order else "."
        lines.append(f"Regions: functions of values, after the operands{order}")
        lines += [f"    {each}." for each in definition.region_order]
    members = [each for base in definition.__mro__ for each in vars(base).values()]
    results = [each for each in members if isinstance(each, Result)]
    if any(each.is_inferred for each in results):
        lines.append("Result: of the first operand's element, unless result= states its type.")
    elif results:
        lines.append("Result: pass its type as result=, which nothing else tells.")
    lines += ["Attributes:" if definition.declared_attributes else "Attributes: none of its own."]
    for each in definition.declared_attributes:
        default = default_of(definition, each)
        may = "must be given" if default is _EMPTY else f"may be left out, and is then {default!r}"
        lines.append(f"    {each.name}: {each.takes}, such as {each.example}; {may}.")
    return "\n".join(lines)
