"""Modules that end the process of a foreign compiler, found and refused before it sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import Any, Final

import numpy as np

from topos.errors import UnsupportedError, VerifyError
from topos.runtimes._mlir import DTYPES, Binding
from topos.runtimes._rewriting import operations_of

# More bytes than any processor of today can address; sizes near 2**63 overflow in a compiler.
LARGEST_BYTES: Final = 2**48
COMPUTATIONS: Final = "called_computations"
DIVISIONS: Final = frozenset({"stablehlo.divide", "stablehlo.remainder"})
# Operations that only place a constant's elements elsewhere.
PLACEMENTS: Final = frozenset(
    {"stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose"}
)


def admit(ir: Binding, module: Binding) -> None:
    """Refuses what XLA and IREE die of.

    Raises `VerifyError` for a function without a body, called or not, and for one that a custom
    call names and the module lacks, and `UnsupportedError` for a function that reaches itself by
    calls or a type of more than 2**48 bytes.
    """
    functions = {
        ir.StringAttr(each.attributes["sym_name"]).value: each
        for each in module.body.operations
        if each.operation.name == "func.func"
    }
    calls = {name: set(_called(ir, function)) for name, function in functions.items()}
    for name, function in functions.items():
        if not function.operation.regions[0].blocks:
            raise VerifyError(f"a function needs a body to run, and @{name} has none")
    _refuse_absent_computations(ir, module, functions.keys())
    _refuse_cycles(calls)
    _refuse_large_types(ir, module)


def refuse_folded_zero_divisors(ir: Binding, module: Binding) -> None:
    """Raises `UnsupportedError` for an integer division of constants by a constant with a zero.

    XLA ends its process where it folds one; it bears a division that it leaves to the run.
    """
    for operation in operations_of(ir, module):
        if operation.name not in DIVISIONS:
            continue
        dividend, divisor = operation.operands
        elements = _elements(ir, divisor)
        if elements is not None and not elements.all() and _folds(ir, dividend):
            raise UnsupportedError(
                f"xla ends its process at {operation.name} of constant integers by zero"
            )


def _called(ir: Binding, function: Binding) -> Iterator[str]:
    for operation in operations_of(ir, function):
        if operation.name == "func.call":
            yield ir.FlatSymbolRefAttr(operation.attributes["callee"]).value


def _refuse_absent_computations(ir: Binding, module: Binding, names: Set[str]) -> None:
    for operation in operations_of(ir, module):
        if operation.name != "stablehlo.custom_call" or COMPUTATIONS not in operation.attributes:
            continue
        for symbol in ir.ArrayAttr(operation.attributes[COMPUTATIONS]):
            name = ir.FlatSymbolRefAttr(symbol).value
            if name not in names:
                raise VerifyError(
                    f"custom_call needs a function, got @{name} among its {COMPUTATIONS}"
                )


def _refuse_cycles(calls: Mapping[str, set[str]]) -> None:
    try:
        TopologicalSorter(calls).prepare()
    except CycleError as error:
        # The sorter names whoever is called before its caller.
        path = " calls ".join(f"@{name}" for name in reversed(error.args[1]))
        raise UnsupportedError(f"a function must not reach itself, and {path}") from None


def _refuse_large_types(ir: Binding, module: Binding) -> None:
    types = {result.type for each in operations_of(ir, module) for result in each.results}
    for each in types:
        if not isinstance(each, ir.RankedTensorType) or not each.has_static_shape:
            continue
        element = DTYPES.get(str(each.element_type))
        size = element.itemsize if element else 1
        if size * prod(each.shape) > LARGEST_BYTES:
            raise UnsupportedError(f"a tensor needs at most 2**48 bytes, got {each}")


def _elements(ir: Binding, value: Binding) -> Any:
    """Returns the elements of an integer constant, or None for any other value."""
    # The bindings cannot cast a complex constant.
    if not isinstance(value.type.element_type, ir.IntegerType):
        return None
    maker = value.owner
    while not isinstance(maker, ir.Block) and maker.name in PLACEMENTS:
        maker = maker.operands[0].owner
    if isinstance(maker, ir.Block) or maker.name != "stablehlo.constant":
        return None
    elements = maker.attributes["value"]
    # Elements narrower than a byte have no form that numpy can read.
    return np.array(elements) if isinstance(elements, ir.DenseIntElementsAttr) else None


def _folds(ir: Binding, value: Binding) -> bool:
    """Returns whether `value` comes from constants alone, by whatever operations."""
    values, seen = [value], set()
    while values:
        maker = values.pop().owner
        if isinstance(maker, ir.Block) or maker.name == "stablehlo.iota":
            return False
        if maker not in seen:
            seen.add(maker)
            values += maker.operands
    return True
