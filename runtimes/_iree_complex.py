"""Complex constants on IREE, joined from their parts: its compiler dies of some whole ones."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from topos.runtimes._iree_text import tensor
from topos.runtimes._mlir import Binding

__all__ = ["complex_constant"]

VALUE: Final = re.compile(r"dense<(.*)> : tensor<", re.DOTALL)
PAIR: Final = re.compile(r"\(([^,()]+),([^,()]+)\)")


def complex_constant(ir: Binding, operation: Binding) -> str | None:
    """Returns the function for a constant of complex elements; None for others."""
    type = operation.results[0].type
    if not isinstance(type.element_type, ir.ComplexType):
        return None
    part = tensor(type.shape, type.element_type.element_type)
    # The bindings have no class for such an attribute.
    text = VALUE.search(operation.get_asm(large_elements_limit=None))
    real, imaginary = _parts(text[1] if text else "", part.endswith("f64>"))
    return f"""
    func.func private @f() -> {type} {{
      %a = stablehlo.constant dense<{real}> : {part}
      %b = stablehlo.constant dense<{imaginary}> : {part}
      %c, %d = stablehlo.optimization_barrier %a, %b : {part}, {part}
      %r = stablehlo.complex %c, %d : {type}
      return %r : {type}
    }}"""


def _parts(values: str, doubles: bool) -> tuple[str, str]:
    """Returns the text of the real and of the imaginary parts of numbers."""
    if not values.startswith('"0x'):
        return PAIR.sub(r"\1", values), PAIR.sub(r"\2", values)
    pairs = np.frombuffer(bytes.fromhex(values[3:-1]), np.uint64 if doubles else np.uint32)
    real, imaginary = (pairs[start::2].tobytes().hex().upper() for start in (0, 1))
    return f'"0x{real}"', f'"0x{imaginary}"'
