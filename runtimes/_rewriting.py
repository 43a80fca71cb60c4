"""StableHLO written into a parsed module: the body of a function, put where an operation stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from topos.runtimes._mlir import Binding

__all__ = ["dimension_numbers", "listed", "operations_of", "replaced", "shaped", "written"]

FIELD: Final = re.compile(r"(\w+) = (?:\[([^\]]*)\]|(\d+))")


def operations_of(ir: Binding, module: Binding) -> list[Binding]:
    """Returns every operation in a module, those of regions before the one that holds them."""
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


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
    # The module must outlive what is taken from it.
    parsed = ir.Module.parse(f"{header} {{\n{lines}\n{end}\n}}")
    (function,) = parsed.body.operations
    block = function.regions[0].blocks[0]
    for argument, operand in zip(block.arguments, operands.values(), strict=True):
        argument.replace_all_uses_with(operand)
    *body, last = (each.operation for each in block.operations)
    made = last.operands[0]
    place = operation
    for each in body:
        if behind:
            each.move_after(place)
            place = each
        else:
            each.move_before(place)
    return made


def replaced(ir: Binding, operation: Binding, place: int, lines: str, result: Binding) -> None:
    """Makes an operand what `lines` give as `%r`, of the type `result`, for the operand `%i`."""
    operation.operands[place] = written(ir, operation, result, lines, i=operation.operands[place])


def shaped(ir: Binding, type: Binding, element: Binding) -> Binding:
    """Returns the tensor type of another element."""
    return ir.RankedTensorType.get(type.shape, element, type.encoding, ir.Location.unknown())


def listed(numbers: Sequence[int]) -> str:
    """Returns numbers as the text of a list has them."""
    return f"[{', '.join(map(str, numbers))}]"


def dimension_numbers(attribute: Binding) -> Mapping[str, tuple[int, ...]]:
    """Returns the fields of an attribute that has no class in the bindings."""
    return {
        name: tuple(map(int, re.findall(r"\d+", many or one)))
        for name, many, one in FIELD.findall(str(attribute))
    }
