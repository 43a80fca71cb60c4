"""What the reference interpreter gets wrong, written as what it gets right."""

from __future__ import annotations

from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer, operations_of
from topos.runtimes.reference.batch_norm import BATCH_NORMS, expand

# Bodies that give the same for the initial value once and twice.
IDEMPOTENT: Final = frozenset(
    {"stablehlo.and", "stablehlo.maximum", "stablehlo.minimum", "stablehlo.or"}
)


def rewrite(ir: Binding, module: Binding) -> None:
    """Rewrites scatters and normalizations of `module`.

    Raises `UnsupportedError` for a scatter that has no right form.
    """
    for operation in operations_of(ir, module):
        if operation.name == "stablehlo.scatter":
            _copy_operands(ir, operation)
        elif operation.name == "stablehlo.select_and_scatter":
            _start_once(ir, operation)
        elif operation.name in BATCH_NORMS:
            expand(ir, operation)


def _copy_operands(ir: Binding, operation: Binding) -> None:
    """Gives a scatter operands of its own: the interpreter writes into them."""
    for place in range(len(operation.results)):
        operation.operands[place] = Writer(ir, operation)("reshape", operation.operands[place])


def _start_once(ir: Binding, operation: Binding) -> None:
    """Adds the initial value of a select_and_scatter behind it, where it is read twice."""
    body = operation.regions[1].blocks[0]
    first, *others = body.operations
    given = [each.name for each in others] == ["stablehlo.return"] and {*first.operands}
    if given != {*body.arguments} or first.name not in IDEMPOTENT | {"stablehlo.add"}:
        raise UnsupportedError(
            "the reference interpreter takes a select_and_scatter that adds, or takes the largest "
            "or smallest, alone"
        )
    if first.name in IDEMPOTENT:
        return
    initial, result = operation.operands[2], operation.results[0]
    element = str(initial.type.element_type)
    # What changes no number that is added to it, the sign of a zero included.
    nothing = "0" if isinstance(initial.type.element_type, ir.IntegerType) else "-0.0"
    nothing = {"i1": "false"}.get(element, nothing)
    nothing = f"({nothing}, {nothing})" if element.startswith("complex") else nothing
    operation.operands[2] = Writer(ir, operation).constant(nothing, initial.type)
    write = Writer(ir, operation, behind=True)
    total = write("add", result, write.broadcast(initial, [], result.type))
    result.replace_all_uses_except(total, total.owner.operation)
