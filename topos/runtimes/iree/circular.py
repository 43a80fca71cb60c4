"""Sine, cosine and tangent on IREE: its own drift off beyond some turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from typing import Any, Final

import numpy as np

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import tensor
from topos.runtimes.iree.maps import NARROW, element_of, map_text

__all__ = ["CIRCULAR"]

# As many digits as the largest number of f32, 2**128, needs for 80 bits of its remainder.
PI: Final = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803"
)
# Quarter of a turn in pieces of 26 bits, so that their products with an integer are exact.
PIECES: Final = 3


def _tan(ir: Binding, operation: Binding) -> str | None:
    if element_of(operation) not in NARROW:
        return None
    type = operation.results[0].type
    return f"""
    func.func private @f(%x: {type}) -> {type} {{
      %s = stablehlo.sine %x : {type}
      %c = stablehlo.cosine %x : {type}
      %r = stablehlo.divide %s, %c : {type}
      return %r : {type}
    }}"""


def _circular(quarters: int) -> Callable[[Binding, Binding], str | None]:
    """Returns the rule for the sine of x and so many quarters of a turn.

    IREE's own drifts off beyond some turns. Here x loses its multiple of a quarter turn, and of
    the rest there is a Taylor polynomial, off by less than 2e-9. From 2**24 on x is an integer of
    24 bits times a power of two, of which a table has the remainder.
    """

    def rule(ir: Binding, operation: Binding) -> str | None:
        type = operation.results[0].type
        if element_of(operation) not in NARROW:
            return None
        return map_text(operation, _turned(type, quarters), ("x",))

    return rule


def _pieces(value: Decimal, bits: int, count: int) -> list[float]:
    """Returns floats that add up to `value`, all but the last of so many bits."""
    found: list[float] = []
    with localcontext(prec=120):
        for _ in range(count - 1):
            mantissa, exponent = np.frexp(float(value))
            piece = float(np.ldexp(np.floor(np.ldexp(mantissa, bits)), int(exponent) - bits))
            found.append(piece)
            value -= Decimal(piece)
    return [*found, float(value)]


def _remainders() -> tuple[list[float], list[float]]:
    """Returns 2**e without its whole turns in two pieces, for e from 0 to 104."""
    with localcontext(prec=120):
        pairs = [_pieces(Decimal(2) ** each % (2 * PI), 29, 2) for each in range(105)]
    return [high for high, _ in pairs], [low for _, low in pairs]


def _turned(type: Binding, quarters: int) -> str:
    wide, words, truth = (tensor(type.shape, element) for element in ("f64", "i64", "i1"))
    comparison = f"({wide}, {wide}) -> {truth}"
    quarter = _pieces(PI / 2, 26, PIECES)
    sine = _polynomial("s", wide, [1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880])
    cosine = _polynomial("c", wide, [1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800])
    high, low = _remainders()
    return f"""
      %bits = stablehlo.bitcast_convert %x : ({wide}) -> {words}
      %c52 = stablehlo.constant dense<52> : {words}
      %mask = stablehlo.constant dense<2047> : {words}
      %shifted = stablehlo.shift_right_logical %bits, %c52 : {words}
      %biased = stablehlo.and %shifted, %mask : {words}
      %bias = stablehlo.constant dense<1046> : {words}
      %e = stablehlo.subtract %biased, %bias : {words}
      %i0 = stablehlo.constant dense<0> : {words}
      %i104 = stablehlo.constant dense<104> : {words}
      %place = stablehlo.clamp %i0, %e, %i104 : {words}
      {_looked("high", type, high)}
      {_looked("low", type, low)}
      %moved = stablehlo.shift_left %place, %c52 : {words}
      %down = stablehlo.subtract %bits, %moved : {words}
      %m = stablehlo.bitcast_convert %down : ({words}) -> {wide}
      %y1 = stablehlo.multiply %m, %high : {wide}
      %y2 = stablehlo.multiply %m, %low : {wide}
      %two = stablehlo.constant dense<{2 / float(PI)}> : {wide}
      %t = stablehlo.multiply %y1, %two : {wide}
      %k = stablehlo.round_nearest_even %t : {wide}
      {_less("r1", "y1", quarter[0], wide)}
      {_less("r2", "r1", quarter[1], wide)}
      {_less("r3", "r2", quarter[2], wide)}
      %z = stablehlo.add %r3, %y2 : {wide}
      %w = stablehlo.multiply %z, %z : {wide}
      {sine}
      %sine = stablehlo.multiply %s, %z : {wide}
      {cosine}
      %i = stablehlo.convert %k : ({wide}) -> {words}
      %quarters = stablehlo.constant dense<{quarters}> : {words}
      %n = stablehlo.add %i, %quarters : {words}
      %i1 = stablehlo.constant dense<1> : {words}
      %i2 = stablehlo.constant dense<2> : {words}
      %n1 = stablehlo.and %n, %i1 : {words}
      %n2 = stablehlo.and %n, %i2 : {words}
      %odd = stablehlo.compare NE, %n1, %i0 : ({words}, {words}) -> {truth}
      %back = stablehlo.compare NE, %n2, %i0 : ({words}, {words}) -> {truth}
      %v = stablehlo.select %odd, %c, %sine : {truth}, {wide}
      %opposite = stablehlo.negate %v : {wide}
      %found = stablehlo.select %back, %opposite, %v : {truth}, {wide}
      %infinity = stablehlo.constant dense<0x7FF0000000000000> : {wide}
      %nan = stablehlo.constant dense<0x7FF8000000000000> : {wide}
      %a = stablehlo.abs %x : {wide}
      %inside = stablehlo.compare LT, %a, %infinity : {comparison}
      %some = stablehlo.select %inside, %found, %nan : {truth}, {wide}
      %zero = stablehlo.constant dense<0.0> : {wide}
      %none = stablehlo.compare EQ, %x, %zero : {comparison}
      %r = stablehlo.select %none, {"%some" if quarters else "%x"}, %some : {truth}, {wide}"""


def _less(result: str, value: str, piece: float, wide: str) -> str:
    """Returns text that takes `piece` times k from a value."""
    return f"""%{result}c = stablehlo.constant dense<{piece!r}> : {wide}
      %{result}k = stablehlo.multiply %k, %{result}c : {wide}
      %{result} = stablehlo.subtract %{value}, %{result}k : {wide}"""


def _polynomial(result: str, wide: str, coefficients: list[float]) -> str:
    """Returns text for a polynomial in w, its coefficients from the constant one up."""
    lines, last = [], ""
    for place, each in reversed([*enumerate(coefficients)]):
        lines.append(f"%{result}k{place} = stablehlo.constant dense<{each!r}> : {wide}")
        if last:
            lines.append(f"%{result}m{place} = stablehlo.multiply {last}, %w : {wide}")
            name = f"%{result}{place or ''}"
            lines.append(f"{name} = stablehlo.add %{result}m{place}, %{result}k{place} : {wide}")
        last = f"%{result}{place}" if last else f"%{result}k{place}"
    return "\n".join(lines)


def _looked(result: str, type: Binding, values: list[float]) -> str:
    """Returns text for the elements of a table at the places of %place."""
    table = f"tensor<{len(values)}xf64>"
    return f"""%{result}t = stablehlo.constant dense<{values!r}> : {table}
      %{result} = "stablehlo.gather"(%{result}t, %place) <{{dimension_numbers =
        #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0],
        index_vector_dim = {type.rank}>, slice_sizes = array<i64: 1>}}>
        : ({table}, {tensor(type.shape, "i64")}) -> {tensor(type.shape, "f64")}"""


CIRCULAR: Final[Mapping[str, Callable[[Any, Binding], str | None]]] = {
    "chlo.tan": _tan,
    "stablehlo.cosine": _circular(1),
    "stablehlo.sine": _circular(0),
    "stablehlo.tan": _tan,
}
