"""Philox on IREE, written out: its own loses the carry into a count's high half."""

from __future__ import annotations

import math
from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import tensor

__all__ = ["random_bits"]

MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
ROUNDS: Final = 10
WORD: Final = {"8": "ui8", "16": "ui16", "32": "ui32", "64": "ui64"}


def random_bits(ir: Binding, operation: Binding) -> str | None:
    """Returns the function for Philox-4x32 of 10 rounds, as Salmon and others define it (2011)."""
    if "THREE_FRY" in str(operation.attributes["rng_algorithm"]):
        return None
    state, bits = (each.type for each in operation.results)
    words, element = str(state), str(bits.element_type)
    size = "".join(letter for letter in element[-2:] if letter.isdigit())
    if words not in ("tensor<2xui64>", "tensor<3xui64>") or size not in WORD:
        raise UnsupportedError(
            f"iree takes Philox of 2 or 3 words of ui64 and elements of 8 bits or more,"
            f" got {words} and {element}"
        )
    count = math.prod(bits.shape)
    if not count:
        return None
    pair, taken = size == "64", count * (2 if size == "64" else 1)
    blocks = -(-taken // 4)
    return f"""
    func.func private @f(%state: {state}) -> ({state}, {bits}) {{
      {_counted(state, blocks)}
      {_rounds(blocks)}
      %four = stablehlo.concatenate %u0, %u1, %u2, %u3, dim = 1 : (tensor<{blocks}x1xui32>,
        tensor<{blocks}x1xui32>, tensor<{blocks}x1xui32>, tensor<{blocks}x1xui32>)
        -> tensor<{blocks}x4xui32>
      %line = stablehlo.reshape %four : (tensor<{blocks}x4xui32>) -> tensor<{4 * blocks}xui32>
      %cut = stablehlo.slice %line [0:{taken}] : (tensor<{4 * blocks}xui32>)
        -> tensor<{taken}xui32>
      {_joined(count) if pair else _narrowed(count, WORD[size])}
      %shaped = stablehlo.reshape %flat : (tensor<{count}x{WORD[size]}>)
        -> {tensor(bits.shape, WORD[size])}
      %bits = stablehlo.bitcast_convert %shaped : ({tensor(bits.shape, WORD[size])}) -> {bits}
      return %next, %bits : {state}, {bits}
    }}"""


def _counted(state: Binding, blocks: int) -> str:
    """Returns text for the counts of 128 bits in halves of 32, and the state after them."""
    (extent,), line, half = state.shape, f"tensor<{blocks}xui64>", f"tensor<{blocks}xui32>"
    lines = []
    # A state of two words has its key for the count's high half.
    for name, place in (("key", 0), ("low", 1), ("high", 2 if extent == 3 else 0)):
        lines.append(f"""
      %{name}1 = stablehlo.slice %state [{place}:{place + 1}] : ({state}) -> tensor<1xui64>
      %{name} = stablehlo.reshape %{name}1 : (tensor<1xui64>) -> tensor<ui64>""")
    for name in ("low", "high"):
        lines.append(f"""
      %{name}s = stablehlo.broadcast_in_dim %{name}, dims = [] : (tensor<ui64>) -> {line}""")
    lines.append(f"""
      %iota = stablehlo.iota dim = 0 : {line}
      %lower = stablehlo.add %lows, %iota : {line}
      %wraps = stablehlo.compare LT, %lower, %lows, UNSIGNED : ({line}, {line})
        -> tensor<{blocks}xi1>
      %carry = stablehlo.convert %wraps : (tensor<{blocks}xi1>) -> {line}
      %higher = stablehlo.add %highs, %carry : {line}
      %blocks = stablehlo.constant dense<{blocks}> : tensor<ui64>
      %ended = stablehlo.add %low, %blocks : tensor<ui64>
      %ended1 = stablehlo.reshape %ended : (tensor<ui64>) -> tensor<1xui64>
      %over = stablehlo.compare LT, %ended, %low, UNSIGNED : (tensor<ui64>, tensor<ui64>)
        -> tensor<i1>
      %more = stablehlo.convert %over : (tensor<i1>) -> tensor<ui64>
      %lifted = stablehlo.add %high, %more : tensor<ui64>
      %lifted1 = stablehlo.reshape %lifted : (tensor<ui64>) -> tensor<1xui64>""")
    parts = ["%key1", "%ended1", "%lifted1"][:extent]
    ones = ", ".join(["tensor<1xui64>"] * extent)
    lines.append(f"""
      %next = stablehlo.concatenate {", ".join(parts)}, dim = 0 : ({ones}) -> {state}
      %thirtytwo = stablehlo.constant dense<32> : {line}
      %shift = stablehlo.constant dense<32> : tensor<ui64>
      %keyshift = stablehlo.shift_right_logical %key, %shift : tensor<ui64>
      %keylow = stablehlo.convert %key : (tensor<ui64>) -> tensor<ui32>
      %keyhigh = stablehlo.convert %keyshift : (tensor<ui64>) -> tensor<ui32>
      %a0 = stablehlo.broadcast_in_dim %keylow, dims = [] : (tensor<ui32>) -> {half}
      %b0 = stablehlo.broadcast_in_dim %keyhigh, dims = [] : (tensor<ui32>) -> {half}""")
    lines += [_halved("lower", "x0", "y0", blocks), _halved("higher", "z0", "w0", blocks)]
    return "".join(lines)


def _halved(source: str, low: str, high: str, blocks: int) -> str:
    line, half = f"tensor<{blocks}xui64>", f"tensor<{blocks}xui32>"
    return f"""
      %{low} = stablehlo.convert %{source} : ({line}) -> {half}
      %{high}s = stablehlo.shift_right_logical %{source}, %thirtytwo : {line}
      %{high} = stablehlo.convert %{high}s : ({line}) -> {half}"""


def _rounds(blocks: int) -> str:
    """Returns text for the four words of each block, as columns."""
    line, half = f"tensor<{blocks}xui64>", f"tensor<{blocks}xui32>"
    lines = []
    for name, value in zip("mn", MULTIPLIERS, strict=True):
        lines.append(f"\n%{name} = stablehlo.constant dense<{value}> : {line}")
    for name, value in zip("rs", WEYL, strict=True):
        lines.append(f"\n%{name} = stablehlo.constant dense<{value}> : {half}")
    for at in range(ROUNDS):
        lines.append(f"""
      %p{at} = stablehlo.convert %x{at} : ({half}) -> {line}
      %q{at} = stablehlo.convert %z{at} : ({half}) -> {line}
      %pm{at} = stablehlo.multiply %p{at}, %m : {line}
      %qn{at} = stablehlo.multiply %q{at}, %n : {line}
      {_halved(f"pm{at}", f"w{at + 1}", f"pc{at}", blocks)}
      {_halved(f"qn{at}", f"y{at + 1}", f"qc{at}", blocks)}
      %e{at} = stablehlo.xor %qc{at}, %y{at} : {half}
      %f{at} = stablehlo.xor %pc{at}, %w{at} : {half}
      %x{at + 1} = stablehlo.xor %e{at}, %a{at} : {half}
      %z{at + 1} = stablehlo.xor %f{at}, %b{at} : {half}
      %a{at + 1} = stablehlo.add %a{at}, %r : {half}
      %b{at + 1} = stablehlo.add %b{at}, %s : {half}""")
    for at, name in enumerate("xyzw"):
        column = f"tensor<{blocks}x1xui32>"
        lines.append(f"\n%u{at} = stablehlo.reshape %{name}{ROUNDS} : ({half}) -> {column}")
    return "".join(lines)


def _joined(count: int) -> str:
    pairs, words, line = (
        f"tensor<{count}x2xui32>",
        f"tensor<{count}x1xui32>",
        f"tensor<{count}xui64>",
    )
    lines = [f"%pairs = stablehlo.reshape %cut : (tensor<{2 * count}xui32>) -> {pairs}"]
    for at, name in enumerate(("first", "second")):
        lines.append(f"""
      %{name}1 = stablehlo.slice %pairs [0:{count}, {at}:{at + 1}] : ({pairs}) -> {words}
      %{name}2 = stablehlo.reshape %{name}1 : ({words}) -> tensor<{count}xui32>
      %{name} = stablehlo.convert %{name}2 : (tensor<{count}xui32>) -> {line}""")
    return (
        "".join(lines)
        + f"""
      %up = stablehlo.constant dense<32> : {line}
      %upper = stablehlo.shift_left %second, %up : {line}
      %flat = stablehlo.or %first, %upper : {line}"""
    )


def _narrowed(count: int, word: str) -> str:
    return f"%flat = stablehlo.convert %cut : (tensor<{count}xui32>) -> tensor<{count}x{word}>"
