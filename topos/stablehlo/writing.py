"""What a function of `dialect` does: an operation added where its operands stand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from topos.errors import ArgumentError
from topos.stablehlo.builder import Builder
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import find
from topos.stablehlo.given import of_python
from topos.stablehlo.ir import Attributes
from topos.stablehlo.signatures import help_of, required_of, signature_of
from topos.stablehlo.values import Body, Value, alone


def function_of(name: str) -> Callable[..., Any]:
    """Returns the function that writes the operation `name`, with its own help."""
    definition = find(name)
    assert definition is not None, "a function of dialect is of a defined operation"

    def written(*parts: Any, **given: Any) -> Any:
        return called(name, *parts, **given)

    written.__name__ = name
    # What all of them take comes last; the line above it tells of `called` alone.
    _, _, shared = inspect.cleandoc(called.__doc__ or "").partition("\n\n")
    told = (f"Adds `{name}`: {definition.__doc__}", help_of(definition), shared)
    written.__doc__ = "\n\n".join(told)
    # What `help` and editors show.
    setattr(written, "__signature__", signature_of(definition))  # noqa: B010, mypy knows no such
    return written


def called(
    name: str,
    /,
    *parts: Any,
    result: Any = None,
    builder: Builder | None = None,
    attributes: Attributes | None = None,
    **given: Any,
) -> Any:
    """Adds the operation `name` where its operands stand; what a function of `dialect` does.

    Values, and sequences of them, are the operands in order; functions of values are the regions.
    Keywords are the attributes by their names in Python. `result` is a type, or a list of them,
    where nothing else tells it; `attributes` are further ones of the tree.
    """
    definition = find(name)
    assert definition is not None, "a function of dialect is of a defined operation"
    operands, regions = _parted(name, parts)
    owner = operands[0].builder if builder is None and operands else builder
    if owner is not None and not isinstance(owner, Builder):
        raise ArgumentError(f"{name} takes a Builder as builder, got {owner!r}")
    if attributes is not None and not isinstance(attributes, Mapping):
        raise ArgumentError(f"{name} takes a dictionary as attributes, got {attributes!r}")
    if owner is None:
        raise ArgumentError(f"{name} has no operand that tells where it stands: pass builder=...")
    stated = {**_made(definition, given), **(attributes or {})}
    _demand_given(definition, stated)
    results = [] if result is None else result if isinstance(result, list) else [result]
    return alone(owner.add(name, *operands, regions=regions, attributes=stated, results=results))


def _demand_given(definition: type[Definition], stated: Mapping[str, Any]) -> None:
    """Refuses to leave out attributes that have no default."""
    name = definition.operation_name
    missing = [each for each in required_of(name) if each.key not in stated]
    if missing:
        names = " and ".join([each.name for each in missing])
        noun = "attribute" if len(missing) == 1 else "attributes"
        examples = ", ".join([f"{each.name}={each.example}" for each in missing])
        raise ArgumentError(f"{name} needs the {noun} {names}: pass {examples}")


def _parted(name: str, parts: Sequence[Any]) -> tuple[list[Value], list[Body]]:
    operands: list[Value] = []
    regions: list[Body] = []
    for part in parts:
        if isinstance(part, Value):
            operands.append(part)
        elif isinstance(part, (tuple, list)) and all(isinstance(each, Value) for each in part):
            operands.extend(part)
        elif callable(part):
            regions.append(part)
        else:
            raise ArgumentError(
                f"{name} takes values, and functions as regions; {part!r} is neither: "
                "constant(...) of the builder makes a value of a number"
            )
    return operands, regions


def _made(definition: type[Definition], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the attributes of the tree that Python's keywords stand for."""
    known = {each.name: each for each in definition.declared_attributes}
    made: dict[str, Any] = {}
    for name, value in given.items():
        attribute = known.get(name)
        if attribute is None:
            listed = ", ".join(known) or "none"
            reason = f"has no attribute {name}; its attributes: {listed}"
            raise ArgumentError(
                f"{definition.operation_name} {reason}; further ones go into attributes={{...}}"
            )
        part = None if value is None else of_python(definition, attribute, value)
        if part is not None:
            made[attribute.key] = part
    return made
