"""Complex numbers on IREE, by their parts: its compiler dies of some whole ones."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer, shaped
from topos.runtimes.iree.site import Site

VALUE: Final = re.compile(r"dense<(.*)> : tensor<", re.DOTALL)
PAIR: Final = re.compile(r"\(([^,()]+),([^,()]+)\)")


def complex_constant(site: Site) -> list[Binding] | None:
    """Returns a constant of complex elements by its parts; None for others."""
    type = site.results[0].type
    if not isinstance(type.element_type, site.ir.ComplexType):
        return None
    part = shaped(site.ir, type, str(type.element_type.element_type))
    # The bindings have no class for such an attribute.
    text = VALUE.search(site.operation.get_asm(large_elements_limit=None))
    pair = _parts(text[1] if text else "", str(part.element_type) == "f64")
    apart = [site.write.constant(each, part) for each in pair]
    hidden = site.write.add("optimization_barrier", apart, [part, part]).results
    return [site.write("complex", *hidden, to=type)]


def complex_bits(site: Site) -> list[Binding] | None:
    """Returns a bitcast_convert of complex elements by their parts; None for others.

    The low half of a part of 64 bits is the real part of the narrower number.
    """
    (operand,), made = site.operands, site.results[0].type
    if not isinstance(operand.type.element_type, site.ir.ComplexType):
        return None
    if operand.type == made:
        return [operand]
    write, narrows = site.write, operand.type.rank < made.rank
    *outer, _ = (made if narrows else operand.type).shape
    whole, halves = write.type(outer, "f64"), write.type([*outer, 2], "f32")
    given = [write(name, operand, to=whole if narrows else halves) for name in ("real", "imag")]
    if narrows:
        given = [write("bitcast_convert", each, to=halves) for each in given]
    parts = [_joined(write, [_half(write, each, place) for each in given]) for place in (0, 1)]
    if not narrows:
        parts = [write("bitcast_convert", each, to=whole) for each in parts]
    return [write("complex", *parts, to=made)]


def _half(write: Writer, halves: Binding, place: int) -> Binding:
    *outer, _ = halves.type.shape
    return write.slice(halves, [*([0] * len(outer)), place], [*outer, place + 1])


def _joined(write: Writer, pair: list[Binding]) -> Binding:
    *outer, _ = pair[0].type.shape
    return write("concatenate", *pair, to=write.type([*outer, 2], "f32"), dimension=len(outer))


def _parts(values: str, doubles: bool) -> tuple[str, str]:
    """Returns the text of the real and of the imaginary parts of numbers."""
    if not values.startswith('"0x'):
        return PAIR.sub(r"\1", values), PAIR.sub(r"\2", values)
    pairs = np.frombuffer(bytes.fromhex(values[3:-1]), np.uint64 if doubles else np.uint32)
    real, imaginary = (pairs[start::2].tobytes().hex().upper() for start in (0, 1))
    return f'"0x{real}"', f'"0x{imaginary}"'
