"""StableHLO written into a parsed module: the body of a function, put where an operation stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from topos.runtimes._mlir import Binding

__all__ = [
    "along",
    "dimension_numbers",
    "inlined",
    "listed",
    "operations_of",
    "replaced",
    "shaped",
    "tensor",
    "written",
    "zero",
]

FIELD: Final = re.compile(r"(\w+) = (?:\[([^\]]*)\]|(\d+))")


def operations_of(ir: Binding, module: Binding) -> list[Binding]:
    """Returns every operation in a module, those of regions before the one that holds them."""
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


class Inlined(NamedTuple):
    """What a function's body became: its results' values, and its operations in order."""

    results: list[Binding]
    operations: list[Binding]


def inlined(
    ir: Binding, operation: Binding, text: str, operands: Sequence[Binding], behind: bool = False
) -> Inlined:
    """Puts the body of the one function in `text` before `operation`, or behind it.

    `operands` take the places of the function's arguments.
    """
    # The module must outlive what is taken from it.
    parsed = ir.Module.parse(text)
    (function,) = parsed.body.operations
    block = function.regions[0].blocks[0]
    for argument, operand in zip(block.arguments, operands, strict=True):
        argument.replace_all_uses_with(operand)
    *body, last = (each.operation for each in block.operations)
    results = [*last.operands]
    place = operation
    for each in body:
        if behind:
            each.move_after(place)
            place = each
        else:
            each.move_before(place)
    return Inlined(results, body)


def written(
    ir: Binding,
    operation: Binding,
    result: Binding,
    lines: str,
    *,
    behind: bool = False,
    **operands: Binding,
) -> Binding:
    """Returns what `lines` of StableHLO give as `%r`, of the type `result`.

    They stand before `operation` or behind it, and name the operands as the keywords do.
    """
    arguments = ", ".join(f"%{name}: {value.type}" for name, value in operands.items())
    header, end = f"func.func private @f({arguments}) -> {result}", f"return %r : {result}"
    text = f"{header} {{\n{lines}\n{end}\n}}"
    return inlined(ir, operation, text, [*operands.values()], behind).results[0]


def replaced(ir: Binding, operation: Binding, place: int, lines: str, result: Binding) -> None:
    """Makes an operand what `lines` give as `%r`, of the type `result`, for the operand `%i`."""
    operation.operands[place] = written(ir, operation, result, lines, i=operation.operands[place])


def shaped(ir: Binding, type: Binding, element: Binding) -> Binding:
    """Returns the tensor type of another element."""
    return ir.RankedTensorType.get(type.shape, element, type.encoding, ir.Location.unknown())


def tensor(shape: Sequence[int], element: object) -> str:
    """Returns the type of a tensor."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def listed(numbers: Sequence[int]) -> str:
    """Returns numbers as the text of a list has them."""
    return f"[{', '.join(map(str, numbers))}]"


def along(name: str, values: Sequence[int], type: Binding, axis: int) -> str:
    """Returns text for integers `name` of the tensor `type`, `values` along `axis`.

    Where `axis` is none of its own, there is one value for all of them.
    """
    if axis == type.rank:
        return f"%{name} = stablehlo.constant dense<{values[0]}> : {type}"
    line = tensor([len(values)], type.element_type)
    return f"""%{name}line = stablehlo.constant dense<{listed(values)}> : {line}
    %{name} = stablehlo.broadcast_in_dim %{name}line, dims = [{axis}] : ({line}) -> {type}"""


def zero(element: str) -> str:
    """Returns a zero as the text of a constant of those elements has it."""
    if element.startswith("complex"):
        return "(0.0, 0.0)"
    return "false" if element == "i1" else "0.0" if "f" in element else "0"


def dimension_numbers(attribute: Binding) -> Mapping[str, tuple[int, ...]]:
    """Returns the fields of an attribute that has no class in the bindings."""
    return {
        name: tuple(map(int, re.findall(r"\d+", many or one)))
        for name, many, one in FIELD.findall(str(attribute))
    }
