"""Maps that IREE computes wrongly or far from the mark, as formulas over what it computes well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topos.runtimes._complex_order import broadcast_operand
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer
from topos.runtimes.iree.site import Site

# Elements whose maps are computed in f64 and rounded once.
NARROW: Final = frozenset({"bf16", "f16", "f32"})
DOUBLE: Final = frozenset({"f64"})
# As constants of f64.
INFINITY: Final = "0x7FF0000000000000"
NAN: Final = "0x7FF8000000000000"

Rule = Callable[[Site], "list[Binding] | None"]


def mapped(elements: frozenset[str], formula: Callable[..., Binding]) -> Rule:
    """Returns the rule that computes maps of such elements by a formula in f64."""

    def rule(site: Site) -> list[Binding] | None:
        if site.element not in elements:
            return None
        write = site.write
        wide = [write.convert(operand, "f64") for operand in site.operands]
        return [write.convert(formula(write, *wide), site.element)]

    return rule


def _power(write: Writer, x: Binding, y: Binding) -> Binding:
    """IREE's own is exp(y log x), which is NaN for every negative x and for 0, 1 and infinity."""
    zero, one, half, nan, infinity = (
        write.constant(each, x.type) for each in ("0.0", "1.0", "0.5", NAN, INFINITY)
    )
    a, b = write("abs", x), write("abs", y)
    # Where the base is 0 or infinite, or the exponent is infinite, the size is 0 or infinite.
    rises = write.compare(y, "GT", zero)
    grows = write.compare(rises, "EQ", write.compare(a, "GT", one))
    edge = write("or", write.compare(a, "EQ", zero), write.compare(a, "EQ", infinity))
    edge = write("and", edge, write.compare(b, "EQ", b))
    endless = write.compare(b, "EQ", infinity)
    far = write("and", endless, write.compare(a, "EQ", a))
    end = write.select(grows, infinity, zero)
    size = write.select(write("or", edge, far), end, write("power", a, y))
    # An odd exponent keeps the sign of the base, a negative zero's as well.
    is_integer = write.compare(write("floor", y), "EQ", y)
    halved = write("multiply", y, half)
    is_odd = write("and", is_integer, write.compare(write("floor", halved), "NE", halved))
    words = write.bits(x, "i64")
    is_minus = write.compare(words, "LT", write.zero(words.type))
    signed = write.select(write("and", is_odd, is_minus), write("negate", size), size)
    # A finite negative base has no power but an integer one.
    is_between = write("and", write.compare(x, "LT", zero), write("not", is_integer))
    is_none = write("and", is_between, write.compare(a, "LT", infinity))
    found = write.select(is_none, nan, signed)
    is_trivial = write("or", write.compare(y, "EQ", zero), write.compare(x, "EQ", one))
    is_even = write("and", write.compare(a, "EQ", one), endless)
    return write.select(write("or", is_trivial, is_even), one, found)


def _expm1(write: Writer, x: Binding) -> Binding:
    """IREE's own is exp(x) - 1 in f64; this is Kahan's, in "Mathematics written in sand" (1983)."""
    one, minus, infinity = (write.constant(each, x.type) for each in ("1.0", "-1.0", INFINITY))
    u = write("exponential", x)
    v = write("subtract", u, one)
    found = write("multiply", v, write("divide", x, write("log", u)))
    end = write("or", write.compare(v, "EQ", minus), write.compare(u, "EQ", infinity))
    return write.select(write.compare(u, "EQ", one), x, write.select(end, v, found))


def _log1p(write: Writer, x: Binding) -> Binding:
    """IREE's own is log(1 + x) in f64; this is Kahan's, as for `_expm1`."""
    one, infinity = (write.constant(each, x.type) for each in ("1.0", INFINITY))
    u = write("add", x, one)
    logarithm, v = write("log", u), write("subtract", u, one)
    found = write("multiply", logarithm, write("divide", x, v))
    end = write.compare(u, "EQ", infinity)
    return write.select(write.compare(u, "EQ", one), x, write.select(end, logarithm, found))


def _cbrt(write: Writer, x: Binding) -> Binding:
    zero, third = (write.constant(each, x.type) for each in ("0.0", "0.3333333333333333"))
    size = write("power", write("abs", x), third)
    signed = write.select(write.compare(x, "LT", zero), write("negate", size), size)
    return write.select(write.compare(x, "EQ", zero), x, signed)


def _tan(site: Site) -> list[Binding] | None:
    if site.element not in NARROW:
        return None
    sine, cosine = (site.write(name, *site.operands) for name in ("sine", "cosine"))
    return [site.write("divide", sine, cosine)]


def _sum_of_truths(site: Site) -> list[Binding] | None:
    """Writes a disjunction, as which StableHLO adds truth values; IREE takes them modulo 2."""
    if site.element != "i1":
        return None
    ir, write = site.ir, site.write
    return [write("or", *[broadcast_operand(ir, write, site.operation, x) for x in site.operands])]


def _broadcast_power(site: Site) -> list[Binding] | None:
    ir, write = site.ir, site.write
    return [
        write("power", *[broadcast_operand(ir, write, site.operation, x) for x in site.operands])
    ]


def _convert(site: Site) -> list[Binding] | None:
    """Goes from an integer to bf16 by way of f32, and to complex numbers by way of their parts.

    On some processors the step to bf16 is missing: there IREE's linker finds no function that
    rounds f32 to it. Without the barrier the compiler joins the two steps again. Of a real constant
    that becomes complex inside a product, the compiler makes both parts.
    """
    ir, (given,), type = site.ir, site.operands, site.results[0].type
    from_complex = isinstance(given.type.element_type, ir.ComplexType)
    if isinstance(type.element_type, ir.ComplexType) and not from_complex:
        write, part = site.write, str(type.element_type.element_type)
        real = write.convert(given, part)
        return [write("complex", real, write.zero(real.type), to=type)]
    if site.element != "bf16" or not isinstance(given.type.element_type, ir.IntegerType):
        return None
    single = site.write("optimization_barrier", site.write.convert(given, "f32"))
    return [site.write.convert(single, "bf16")]


MAPS: Final[Mapping[str, Rule]] = {
    "chlo.broadcast_add": _sum_of_truths,
    "chlo.broadcast_power": _broadcast_power,
    "chlo.tan": _tan,
    "stablehlo.add": _sum_of_truths,
    "stablehlo.cbrt": mapped(NARROW, _cbrt),
    "stablehlo.convert": _convert,
    "stablehlo.exponential_minus_one": mapped(DOUBLE, _expm1),
    "stablehlo.log_plus_one": mapped(DOUBLE, _log1p),
    "stablehlo.power": mapped(NARROW | DOUBLE, _power),
    "stablehlo.tan": _tan,
}
