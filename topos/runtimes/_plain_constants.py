"""Constants whose bytes stand at the end of a text, written where they are used."""

from __future__ import annotations

from typing import Final

from topos.errors import UnsupportedError, VerifyError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import operations_of, shaped, written
from topos.stablehlo.ir import Tensor
from topos.stablehlo.resources import resources_of

__all__ = ["plain_constants"]

NAMED: Final = "dense_resource<"
SECTION: Final = "{-#"


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
        operation.results[0].replace_all_uses_with(_written(ir, operation, digits))
        operation.erase()


def _written(ir: Binding, operation: Binding, digits: str) -> Binding:
    """Returns a constant of those bytes in front of the one that names them."""
    type = operation.results[0].type
    if str(type.element_type) != "i1":
        return written(ir, operation, type, f'%r = stablehlo.constant dense<"0x{digits}"> : {type}')
    # A resource has a byte for each truth value, and a dense constant a bit.
    bytes = shaped(ir, type, ir.IntegerType.get_signless(8))
    lines = f"""%bytes = stablehlo.constant dense<"0x{digits}"> : {bytes}
    %r = stablehlo.convert %bytes : ({bytes}) -> {type}"""
    return written(ir, operation, type, lines)
