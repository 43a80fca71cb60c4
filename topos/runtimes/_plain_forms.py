"""Constants and indices in the forms that no runtime misreads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.errors import UnsupportedError, VerifyError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer, operations_of, shaped
from topos.stablehlo.ir import Tensor
from topos.stablehlo.resources import resources_of

NAMED: Final = "dense_resource<"
SECTION: Final = "{-#"
# Where the indices of an operation begin among its operands, those of a scatter and a slice apart.
SECOND: Final = frozenset(
    {"stablehlo.dynamic_gather", "stablehlo.gather", "stablehlo.torch_index_select"}
)
FIRST_START: Final[Mapping[str, int]] = {
    "stablehlo.dynamic_slice": 1,
    "stablehlo.dynamic_update_slice": 2,
}
PLAIN: Final = frozenset({"i32", "i64"})
WIDE: Final = frozenset({"ui32", "ui64"})
LARGEST: Final = 2**63 - 1


def plain_constants(ir: Binding, module: Binding, text: str) -> None:
    """Makes every `dense_resource` of `module`, parsed from `text`, a dense constant.

    Raises `UnsupportedError` for one whose bytes the text leaves out, and `VerifyError` for one
    that has too few or too many.
    """
    if NAMED not in text:
        return
    resources = resources_of(text[text.rfind(SECTION) :] if SECTION in text else "")
    for operation in operations_of(ir, module):
        if operation.name != "stablehlo.constant":
            continue
        # The bindings cannot cast a complex constant, so the text of the operation tells.
        name = str(operation).partition(NAMED)[2].partition(">")[0].strip('"')
        if not name:
            continue
        digits = resources.digits(name)
        if digits is None:
            raise UnsupportedError(f"a constant needs its elements, and the text elides {name}")
        type = operation.results[0].type
        reason = resources.misfit(name, Tensor(tuple(type.shape), str(type.element_type)))
        if reason:
            raise VerifyError(reason)
        write, is_truth = Writer(ir, operation), str(type.element_type) == "i1"
        # A resource has a byte for each truth value, and a dense constant a bit.
        made = write.constant(f'"0x{digits}"', shaped(ir, type, "i8") if is_truth else type)
        operation.results[0].replace_all_uses_with(write.convert(made, str(type.element_type)))
        operation.erase()


def plain_indices(ir: Binding, module: Binding) -> None:
    """Converts every index of `module` that is unsigned or has fewer than 32 bits.

    One of 64 bits that no signed element holds becomes the largest, which lies outside as well.
    """
    for operation in operations_of(ir, module):
        for place in _places(operation):
            plain_index(ir, operation, place)


def _places(operation: Binding) -> range:
    if operation.name in SECOND:
        return range(1, 2)
    if operation.name == "stablehlo.scatter":
        return range(len(operation.results), len(operation.results) + 1)
    first = FIRST_START.get(operation.name)
    return range(0) if first is None else range(first, len(operation.operands))


def plain_index(ir: Binding, operation: Binding, place: int) -> None:
    """Converts the index that is the operand at `place`, as `plain_indices` does."""
    index = operation.operands[place]
    element = str(index.type.element_type)
    if element in PLAIN or not index.type.has_static_shape:
        return
    write = Writer(ir, operation)
    if element == "ui64":
        index = write("minimum", index, write.constant(LARGEST, index.type))
    operation.operands[place] = write.convert(index, "i64" if element in WIDE else "i32")
