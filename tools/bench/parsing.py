"""Reading text: operations a second at two lengths, and constants beside jaxlib's own parser."""

from __future__ import annotations

import argparse

import numpy as np

try:
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context
except ImportError:
    raise SystemExit("this bench compares with jaxlib: pip install 'topos-compiler[xla]'") from None
from timing import interleaved, report

from topos.runtimes.interpreter.run import compiled
from topos.stablehlo.dense import decoded
from topos.stablehlo.ir import Module
from topos.stablehlo.parser.parse import parse

SHORT, LONG = 2_000, 20_000
ROUNDS = 5
TYPE = "tensor<4x4xf32>"
# One of every kind of form that ordinary programs are made of.
LINES = (
    f"stablehlo.add %BEFORE, %b : {TYPE}",
    f"stablehlo.transpose %BEFORE, dims = [1, 0] : ({TYPE}) -> {TYPE}",
    "stablehlo.dot_general %BEFORE, %b, contracting_dims = [1] x [0], precision ="
    f" [HIGHEST, HIGHEST] : ({TYPE}, {TYPE}) -> {TYPE}",
    f"stablehlo.maximum %BEFORE, %a : {TYPE}",
    f"stablehlo.exponential %BEFORE : {TYPE}",
    f"stablehlo.constant dense<1.0> : {TYPE}",
)


def program(length: int) -> str:
    """Returns the text of a function of `length` operations, each on a line."""
    lines = [f"  %0 = {LINES[0].replace('BEFORE', 'a')}"]
    for position in range(1, length):
        line = LINES[position % len(LINES)].replace("BEFORE", str(position - 1))
        lines.append(f"  %{position} = {line}")
    body = "\n".join(lines)
    head = f"func.func @main(%a: {TYPE}, %b: {TYPE}) -> {TYPE} {{"
    return f"{head}\n{body}\n  return %{length - 1} : {TYPE}\n}}\n"


def constants(megabytes: int) -> str:
    """Returns the text of a function that holds `megabytes` of one float32 constant as digits."""
    elements = np.random.default_rng(0).standard_normal(megabytes * 2**18).astype(np.float32)
    type = f"tensor<{elements.size}xf32>"
    digits = elements.tobytes().hex().upper()
    line = f'%0 = stablehlo.constant dense<"0x{digits}"> : {type}'
    return f"func.func @main() -> {type} {{\n  {line}\n  return %0 : {type}\n}}\n"


def decode(module: Module) -> int:
    """Returns the bytes of the constant that `module` begins with, after reading its body."""
    body = module.functions[0].body
    assert body is not None
    return decoded(body.blocks[0].operations[0].attributes["value"]).nbytes


def lengths() -> None:
    """Measures the cost of an operation in a short text and in a long one."""
    short, long = program(SHORT), program(LONG)
    best = interleaved({"short": lambda: parse(short), "long": lambda: parse(long)}, ROUNDS)
    rates = {"short": SHORT / best["short"], "long": LONG / best["long"]}
    figures = {
        f"of {SHORT} operations, a second": f"{rates['short']:.0f}",
        f"of {LONG} operations, a second": f"{rates['long']:.0f}",
    }
    share = min(rates.values()) / 8000
    report("operations parsed a second", figures, share, "must be at least 1x of 8000")
    whole = interleaved({"short": lambda: compiled(short), "long": lambda: compiled(long)}, ROUNDS)
    costs = {"short": whole["short"] / SHORT, "long": whole["long"] / LONG}
    figures = {
        f"of {SHORT} operations, us each": f"{costs['short'] * 1e6:.1f}",
        f"of {LONG} operations, us each": f"{costs['long'] * 1e6:.1f}",
    }
    growth = costs["long"] / costs["short"]
    report("parse, verify and compile a text", figures, growth, "must be at most 1.5x")


def blobs(megabytes: int) -> None:
    """Measures a large constant, parsed and decoded, beside jaxlib's parser."""
    text = constants(megabytes)
    with make_ir_context(), ir.Location.unknown():
        best = interleaved(
            {"topos": lambda: decode(parse(text)), "jaxlib": lambda: ir.Module.parse(text)}, ROUNDS
        )
    figures = {
        "topos parse + decode, s": f"{best['topos']:.2f}",
        "jaxlib parse, s": f"{best['jaxlib']:.2f}",
    }
    title = f"{megabytes} MB of constants as hexadecimal digits"
    report(title, figures, best["topos"] / best["jaxlib"], "must be at most 3x")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100, help="of constants, 100 by default")
    chosen = parser.parse_args()
    parse(program(1))
    lengths()
    blobs(chosen.megabytes)
