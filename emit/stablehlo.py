"""Writing a plan as a StableHLO module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from topos.emit import lowering as _lowering
from topos.emit.text import quoted, tensor_type
from topos.emit.writer import stamp
from topos.engine import Numerics, Plan
from topos.errors import EmitError
from topos.graph import Form, Location
from topos.op import Input, Parameter

__all__ = ["ARGUMENTS", "write"]

assert _lowering.__all__  # Importing the rules fills the table they are registered in.

ARGUMENTS: Final = (Parameter, Input)
"""The operations that become arguments of `@main` and have no lowering rule."""


def write(plan: Plan) -> str:
    """Returns the module text of `plan`: one `func.func public @main`.

    Parameters, then inputs, are its arguments and the declared results its results. A value is
    called `%vN` after its node. Raises `EmitError` where an element has no MLIR spelling.
    """
    signature = plan.signature()
    arguments = ", ".join(
        f"%v{port.symbol.position}: {tensor_type(port.type)}{_named(port.name)}"
        for port in signature.arguments
    )
    types = ", ".join(tensor_type(port.type) for port in signature.results)
    lines, names = _body(plan)
    results = ", ".join(names[port.symbol.position] for port in signature.results)
    return "\n".join(
        [
            "module @topos {",
            f"  func.func public @main({arguments}) -> ({types}) {{",
            *lines,
            f"    return {results} : {types}",
            "  }",
            "}",
            "",
        ]
    )


def _body(plan: Plan) -> tuple[list[str], dict[int, str]]:
    """Returns the lines of the function and the name of each node's value."""
    columns = plan.network.columns
    forms, operands, locations = columns.forms, columns.operands, columns.locations
    exact = plan.numerics is Numerics.EXACT
    stamps: dict[Form, Callable[..., str] | int] = {}
    names: dict[int, str] = {}
    lines: list[str] = []
    for index in plan.order:
        form = forms[index]
        name = names[index] = f"%v{index}"
        text = stamps.get(form)
        if text is None:
            if isinstance(form.operation, ARGUMENTS):
                continue
            text = stamps[form] = _stamp(plan, form, index, exact)
        if isinstance(text, int):
            names[index] = names[operands[index][text]]
        elif locations is None:
            lines.append(text(name, *[names[operand] for operand in operands[index]]))
        else:
            inputs = [names[operand] for operand in operands[index]]
            lines.append(text(name, *inputs, _located(locations[index])))
    return lines, names


def _stamp(plan: Plan, form: Form, index: int, exact: bool) -> Callable[..., str] | int:
    columns = plan.network.columns
    try:
        return stamp(form, exact, columns.locations is not None)
    except EmitError as error:
        raise EmitError(f"{columns.title(index)} cannot be written: {error}") from None


def _named(name: str | None) -> str:
    return "" if name is None else f" loc({quoted(name)})"


def _located(location: Location) -> str:
    return f"loc({quoted(location.file)}:{location.line}:{location.column})"
