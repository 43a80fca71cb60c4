"""StableHLO written into a parsed module: the body of a function, put where an operation stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding

__all__ = ["Written", "listed", "operations_of", "require_static", "tensor", "written", "zero"]


class Written(NamedTuple):
    """What a function's body became: its results' values, and its operations in order."""

    results: list[Binding]
    operations: list[Binding]


def written(
    ir: Binding, operation: Binding, text: str, operands: Sequence[Binding], after: bool = False
) -> Written:
    """Puts the body of the one function in `text` before `operation`, or after it.

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
        if after:
            each.move_after(place)
            place = each
        else:
            each.move_before(place)
    return Written(results, body)


def tensor(shape: Sequence[int], element: object) -> str:
    """Returns the type of a tensor."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def listed(numbers: Sequence[int]) -> str:
    """Returns numbers as the text of a list has them."""
    return ", ".join(map(str, numbers))


def zero(element: str) -> str:
    """Returns a zero as the text of a constant of those elements has it."""
    if element.startswith("complex"):
        return "(0.0, 0.0)"
    return "false" if element == "i1" else "0.0" if "f" in element else "0"


def operations_of(ir: Binding, module: Binding) -> list[Binding]:
    """Returns every operation in a module, those of regions before the one that holds them."""
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def require_static(operation: Binding) -> None:
    """Raises `UnsupportedError` for an operation with an operand or a result of unknown shape."""
    for value in (*operation.operands, *operation.results):
        if not value.type.has_static_shape:
            raise UnsupportedError(
                f"iree takes {operation.name} of fixed shapes alone, got {value.type}"
            )
