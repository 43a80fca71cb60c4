"""Maps that IREE computes wrongly or far from the mark, as formulas over what it computes well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import tensor

__all__ = ["MAPS", "NARROW", "element_of", "map_text"]

# Elements whose maps are computed in f64 and rounded once.
NARROW: Final = frozenset({"bf16", "f16", "f32"})
REAL: Final = NARROW | {"f64"}


def _power(ir: Binding, operation: Binding) -> str | None:
    """IREE's own is exp(y log x), which is NaN for every negative x and for 0, 1 and infinity."""
    type, element = operation.results[0].type, element_of(operation)
    if element not in REAL:
        return None
    wide, words, truth = (tensor(type.shape, each) for each in ("f64", "i64", "i1"))
    comparison = f"({wide}, {wide}) -> {truth}"
    body = f"""
      %0 = stablehlo.constant dense<0.0> : {wide}
      %1 = stablehlo.constant dense<1.0> : {wide}
      %half = stablehlo.constant dense<0.5> : {wide}
      %nan = stablehlo.constant dense<0x7FF8000000000000> : {wide}
      %infinity = stablehlo.constant dense<0x7FF0000000000000> : {wide}
      %a = stablehlo.abs %x : {wide}
      %plain = stablehlo.power %a, %y : {wide}
      %rising = stablehlo.compare GT, %y, %0 : {comparison}
      %above = stablehlo.compare GT, %a, %1 : {comparison}
      %grows = stablehlo.compare EQ, %rising, %above : ({truth}, {truth}) -> {truth}
      %end = stablehlo.select %grows, %infinity, %0 : {truth}, {wide}
      %b = stablehlo.abs %y : {wide}
      %a0 = stablehlo.compare EQ, %a, %0 : {comparison}
      %a8 = stablehlo.compare EQ, %a, %infinity : {comparison}
      %b8 = stablehlo.compare EQ, %b, %infinity : {comparison}
      %edge = stablehlo.or %a0, %a8 : {truth}
      %known = stablehlo.compare EQ, %b, %b : {comparison}
      %edged = stablehlo.and %edge, %known : {truth}
      %real = stablehlo.compare EQ, %a, %a : {comparison}
      %far = stablehlo.and %b8, %real : {truth}
      %ends = stablehlo.or %edged, %far : {truth}
      %size = stablehlo.select %ends, %end, %plain : {truth}, {wide}
      %whole = stablehlo.floor %y : {wide}
      %integer = stablehlo.compare EQ, %whole, %y : {comparison}
      %halved = stablehlo.multiply %y, %half : {wide}
      %floor = stablehlo.floor %halved : {wide}
      %uneven = stablehlo.compare NE, %floor, %halved : {comparison}
      %odd = stablehlo.and %integer, %uneven : {truth}
      %bits = stablehlo.bitcast_convert %x : ({wide}) -> {words}
      %zero = stablehlo.constant dense<0> : {words}
      %minus = stablehlo.compare LT, %bits, %zero : ({words}, {words}) -> {truth}
      %turned = stablehlo.and %odd, %minus : {truth}
      %opposite = stablehlo.negate %size : {wide}
      %signed = stablehlo.select %turned, %opposite, %size : {truth}, {wide}
      %negative = stablehlo.compare LT, %x, %0 : {comparison}
      %between = stablehlo.not %integer : {truth}
      %inside = stablehlo.compare LT, %a, %infinity : {comparison}
      %off = stablehlo.and %negative, %between : {truth}
      %none = stablehlo.and %off, %inside : {truth}
      %found = stablehlo.select %none, %nan, %signed : {truth}, {wide}
      %y0 = stablehlo.compare EQ, %y, %0 : {comparison}
      %x1 = stablehlo.compare EQ, %x, %1 : {comparison}
      %a1 = stablehlo.compare EQ, %a, %1 : {comparison}
      %even = stablehlo.and %a1, %b8 : {truth}
      %trivial = stablehlo.or %y0, %x1 : {truth}
      %one = stablehlo.or %trivial, %even : {truth}
      %r = stablehlo.select %one, %1, %found : {truth}, {wide}"""
    return map_text(operation, body, ("x", "y"))


def _expm1(ir: Binding, operation: Binding) -> str | None:
    """IREE's own is exp(x) - 1 in f64; this is Kahan's, in "Mathematics written in sand" (1983)."""
    if element_of(operation) != "f64":
        return None
    type = operation.results[0].type
    truth = tensor(type.shape, "i1")
    body = f"""
      %1 = stablehlo.constant dense<1.0> : {type}
      %minus = stablehlo.constant dense<-1.0> : {type}
      %infinity = stablehlo.constant dense<0x7FF0000000000000> : {type}
      %u = stablehlo.exponential %x : {type}
      %v = stablehlo.subtract %u, %1 : {type}
      %l = stablehlo.log %u : {type}
      %q = stablehlo.divide %x, %l : {type}
      %p = stablehlo.multiply %v, %q : {type}
      %flat = stablehlo.compare EQ, %u, %1 : ({type}, {type}) -> {truth}
      %low = stablehlo.compare EQ, %v, %minus : ({type}, {type}) -> {truth}
      %high = stablehlo.compare EQ, %u, %infinity : ({type}, {type}) -> {truth}
      %end = stablehlo.or %low, %high : {truth}
      %s = stablehlo.select %end, %v, %p : {truth}, {type}
      %r = stablehlo.select %flat, %x, %s : {truth}, {type}"""
    return map_text(operation, body, ("x",))


def _log1p(ir: Binding, operation: Binding) -> str | None:
    """IREE's own is log(1 + x) in f64; this is Kahan's, as for `_expm1`."""
    if element_of(operation) != "f64":
        return None
    type = operation.results[0].type
    truth = tensor(type.shape, "i1")
    body = f"""
      %1 = stablehlo.constant dense<1.0> : {type}
      %infinity = stablehlo.constant dense<0x7FF0000000000000> : {type}
      %u = stablehlo.add %x, %1 : {type}
      %v = stablehlo.subtract %u, %1 : {type}
      %l = stablehlo.log %u : {type}
      %q = stablehlo.divide %x, %v : {type}
      %p = stablehlo.multiply %l, %q : {type}
      %flat = stablehlo.compare EQ, %u, %1 : ({type}, {type}) -> {truth}
      %high = stablehlo.compare EQ, %u, %infinity : ({type}, {type}) -> {truth}
      %s = stablehlo.select %high, %l, %p : {truth}, {type}
      %r = stablehlo.select %flat, %x, %s : {truth}, {type}"""
    return map_text(operation, body, ("x",))


def _cbrt(ir: Binding, operation: Binding) -> str | None:
    if element_of(operation) not in NARROW:
        return None
    wide = tensor(operation.results[0].type.shape, "f64")
    truth = tensor(operation.results[0].type.shape, "i1")
    body = f"""
      %0 = stablehlo.constant dense<0.0> : {wide}
      %third = stablehlo.constant dense<0.3333333333333333> : {wide}
      %a = stablehlo.abs %x : {wide}
      %p = stablehlo.power %a, %third : {wide}
      %m = stablehlo.negate %p : {wide}
      %less = stablehlo.compare LT, %x, %0 : ({wide}, {wide}) -> {truth}
      %s = stablehlo.select %less, %m, %p : {truth}, {wide}
      %none = stablehlo.compare EQ, %x, %0 : ({wide}, {wide}) -> {truth}
      %r = stablehlo.select %none, %x, %s : {truth}, {wide}"""
    return map_text(operation, body, ("x",))


def _convert(ir: Binding, operation: Binding) -> str | None:
    """Goes from an integer to bf16 by way of f32, and to complex numbers by way of their parts.

    On some processors the step to bf16 is missing: there IREE's linker finds no function that
    rounds f32 to it. Without the barrier the compiler joins the two steps again. Of a real constant
    that becomes complex inside a product, the compiler makes both parts.
    """
    given, type = operation.operands[0].type, operation.results[0].type
    element = type.element_type
    if isinstance(element, ir.ComplexType) and not isinstance(given.element_type, ir.ComplexType):
        part = tensor(type.shape, element.element_type)
        return f"""
    func.func private @f(%x: {given}) -> {type} {{
      %a = stablehlo.convert %x : ({given}) -> {part}
      %b = stablehlo.constant dense<0.0> : {part}
      %r = stablehlo.complex %a, %b : {type}
      return %r : {type}
    }}"""
    if element_of(operation) != "bf16" or not isinstance(given.element_type, ir.IntegerType):
        return None
    single = tensor(type.shape, "f32")
    return f"""
    func.func private @f(%x: {given}) -> {type} {{
      %s = stablehlo.convert %x : ({given}) -> {single}
      %b = stablehlo.optimization_barrier %s : {single}
      %r = stablehlo.convert %b : ({single}) -> {type}
      return %r : {type}
    }}"""


def map_text(operation: Binding, body: str, names: tuple[str, ...]) -> str:
    """Returns a function of `names` whose body computes %r in f64, in the operation's element."""
    type = operation.results[0].type
    wide = tensor(type.shape, "f64")
    if str(type) == wide:
        given = ", ".join(f"%{name}: {type}" for name in names)
        return f"func.func private @f({given}) -> {type} {{{body}\n return %r : {type}\n}}"
    given = ", ".join(f"%{name}n: {type}" for name in names)
    widened = "\n".join(
        f"%{name} = stablehlo.convert %{name}n : ({type}) -> {wide}" for name in names
    )
    return f"""func.func private @f({given}) -> {type} {{
      {widened}{body}
      %narrow = stablehlo.convert %r : ({wide}) -> {type}
      return %narrow : {type}
    }}"""


def element_of(operation: Binding) -> str:
    return str(operation.results[0].type.element_type)


MAPS: Final[Mapping[str, Callable[[Any, Binding], str | None]]] = {
    "stablehlo.cbrt": _cbrt,
    "stablehlo.convert": _convert,
    "stablehlo.exponential_minus_one": _expm1,
    "stablehlo.log_plus_one": _log1p,
    "stablehlo.power": _power,
}
