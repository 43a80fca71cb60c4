"""What XLA gets wrong, written as what it gets right, in a parsed module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from topos.errors import UnsupportedError
from topos.runtimes._complex_order import ORDERING, order_complex
from topos.runtimes._intervals import Intervals
from topos.runtimes._mlir import Binding
from topos.runtimes._plain_forms import plain_constants, plain_indices
from topos.runtimes._rewriting import Writer, operations_of
from topos.runtimes._scatter_margins import keep_windows
from topos.runtimes.xla.simplifier import clamp_nested, keep_cropped

# Of what is done to a module before XLA sees it: one more with every change to that.
REVISION: Final = 5

FRONTEND: Final = "mhlo.frontend_attributes"
SHARDING: Final = "xla.sdy."
# Without these XLA's newer code for a scatter takes two equal operands for one.
OLDER_LOOPS: Final = {"xla_cpu_use_fusion_emitters": False}
NARROWEST_WIDE: Final = 2**31


def rewrite(ir: Binding, module: Binding, text: str, simplified: bool) -> None:
    """Rewrites in `module`, parsed from `text`, what XLA computes wrongly or dies of.

    `simplified` tells whether XLA's algebraic simplifier runs, which has faults of its own.
    Raises `UnsupportedError` for a form that has no rewriting.
    """
    plain_constants(ir, module, text)
    plain_indices(ir, module)
    intervals = Intervals(ir)
    for operation in operations_of(ir, module):
        if operation.name == "stablehlo.scatter":
            keep_windows(ir, operation, intervals)
        rule = RULES.get(operation.name)
        if rule is not None:
            rule(ir, operation)
    if simplified:
        clamp_nested(ir, module)
        for operation in operations_of(ir, module):
            if operation.name == "stablehlo.reduce_window":
                keep_cropped(ir, operation)


def needed_flags(ir: Binding, module: Binding) -> Mapping[str, Any]:
    """Returns the options without which XLA compiles `module` wrongly."""
    repeats = any(map(_may_repeat, operations_of(ir, module)))
    return OLDER_LOOPS if repeats else {}


def _may_repeat(operation: Binding) -> bool:
    """Returns whether two operands of a scatter may be found equal: only arguments never are."""
    if operation.name != "stablehlo.scatter":
        return False
    operands = list(operation.operands)[: len(operation.results)]
    types = {str(each.type) for each in operands}
    return len(types) < len(operands)


def _reduce(ir: Binding, operation: Binding) -> None:
    """Broadcasts what a reduction's body returns from outside: XLA returns it without a shape.

    A reduction of no elements returns what it starts from, also where its body gives a constant.
    XLA takes no other use of such a value, and ends its process where that folds to the value.
    """
    *inner, last = operation.regions[0].blocks[0].operations
    for each in inner:
        if (True, False) in [_place(ir, operation, value) for value in each.operands]:
            raise UnsupportedError(
                f"xla takes no reduction whose body reads a value from outside, as {each.name} does"
            )
    stands = [_standing(ir, operation, place) for place in range(len(last.operands))]
    for result, value in zip(operation.results, stands, strict=True):
        if value is not None:
            result.replace_all_uses_with(Writer(ir, operation).broadcast(value, [], result.type))
    if all(value is not None for value in stands):
        operation.erase()


def _place(ir: Binding, operation: Binding, value: Binding) -> tuple[bool, bool]:
    """Returns whether `value` is from outside of the body of a reduction, and is a constant."""
    maker = value.owner
    if isinstance(maker, ir.Block):
        return bool(maker != operation.regions[0].blocks[0]), False
    return bool(maker.parent.operation != operation.operation), maker.name == "stablehlo.constant"


def _standing(ir: Binding, operation: Binding, place: int) -> Binding | None:
    """Returns the scalar that is every element of a result of a reduction, if it is known."""
    *_, last = operation.regions[0].blocks[0].operations
    value, shape = last.operands[place], operation.operands[0].type.shape
    is_outside, is_constant = _place(ir, operation, value)
    axes = ir.DenseI64ArrayAttr(operation.attributes["dimensions"])
    if any(shape[axis] == 0 for axis in axes) and (is_outside or is_constant):
        return operation.operands[len(operation.results) + place]
    return value if is_outside else None


def _select(ir: Binding, operation: Binding) -> None:
    """Clamps 64-bit indices of a torch_index_select, of which XLA drops the upper half."""
    operand, indices = operation.operands
    highest = operand.type.shape[int(ir.IntegerAttr(operation.attributes["dim"]))] - 1
    if str(indices.type.element_type) != "i64" or not indices.type.has_static_shape:
        return
    if highest >= NARROWEST_WIDE:
        raise UnsupportedError("xla takes a torch_index_select of at most 2**31 rows")
    write = Writer(ir, operation)
    inside = write.clamp(indices, [max(highest, 0)], indices.type.rank)
    operation.operands[1] = write.convert(inside, "i32")


def _function(ir: Binding, operation: Binding) -> None:
    """Drops what Shardy says of arguments, which XLA believes without looking for the mesh.

    On one device it says nothing.
    """
    if "arg_attrs" not in operation.attributes:
        return
    dictionaries = [*map(ir.DictAttr, ir.ArrayAttr(operation.attributes["arg_attrs"]))]
    if not any(FRONTEND in each for each in dictionaries):
        return
    kept = [
        {entry.name: _without_shardings(ir, entry) for entry in attributes}
        for attributes in dictionaries
    ]
    operation.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])


def _without_shardings(ir: Binding, entry: Binding) -> Binding:
    if entry.name != FRONTEND or not isinstance(entry.attr, ir.DictAttr):
        return entry.attr
    inner = ir.DictAttr(entry.attr)
    return ir.DictAttr.get(
        {each.name: each.attr for each in inner if not each.name.startswith(SHARDING)}
    )


RULES: Final[Mapping[str, Callable[[Any, Binding], None]]] = {
    **dict.fromkeys(ORDERING, order_complex),
    "func.func": _function,
    "stablehlo.reduce": _reduce,
    "stablehlo.torch_index_select": _select,
}
