"""Complex numbers on IREE, by their parts: its compiler dies of some whole ones."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import tensor

__all__ = ["complex_bits", "complex_constant"]

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


def complex_bits(ir: Binding, operation: Binding) -> str | None:
    """Returns the function for a bitcast_convert of complex elements; None for others.

    The low half of a part of 64 bits is the real part of the narrower number.
    """
    given, made = operation.operands[0].type, operation.results[0].type
    if not isinstance(given.element_type, ir.ComplexType):
        return None
    if given == made:
        return f"func.func private @f(%x: {given}) -> {made} {{ return %x : {made} }}"
    narrows = given.rank < made.rank
    *outer, _ = (made if narrows else given).shape
    whole, halves, half = (
        tensor(outer, "f64"),
        tensor([*outer, 2], "f32"),
        tensor([*outer, 1], "f32"),
    )
    part, parts = (whole, "%c0, %c1") if narrows else (halves, "%d0, %d1")
    rows = "".join(f"0:{extent}, " for extent in outer)
    lines = []
    for name, kind in (("a", "real"), ("b", "imag")):
        lines.append(f"%{name} = stablehlo.{kind} %x : ({given}) -> {part}")
        split = name
        if narrows:
            split = f"{name}s"
            lines.append(f"%{split} = stablehlo.bitcast_convert %{name} : ({whole}) -> {halves}")
        for place in (0, 1):
            cut = f"slice %{split} [{rows}{place}:{place + 1}] : ({halves}) -> {half}"
            lines.append(f"%{name}{place} = stablehlo.{cut}")
    for place in (0, 1):
        pair = f"%a{place}, %b{place}, dim = {len(outer)} : ({half}, {half}) -> {halves}"
        lines.append(f"%c{place} = stablehlo.concatenate {pair}")
        if not narrows:
            lines.append(f"%d{place} = stablehlo.bitcast_convert %c{place} : ({halves}) -> {whole}")
    body = "\n".join(lines)
    return f"""
    func.func private @f(%x: {given}) -> {made} {{
      {body}
      %r = stablehlo.complex {parts} : {made}
      return %r : {made}
    }}"""


def _parts(values: str, doubles: bool) -> tuple[str, str]:
    """Returns the text of the real and of the imaginary parts of numbers."""
    if not values.startswith('"0x'):
        return PAIR.sub(r"\1", values), PAIR.sub(r"\2", values)
    pairs = np.frombuffer(bytes.fromhex(values[3:-1]), np.uint64 if doubles else np.uint32)
    real, imaginary = (pairs[start::2].tobytes().hex().upper() for start in (0, 1))
    return f'"0x{real}"', f'"0x{imaginary}"'
