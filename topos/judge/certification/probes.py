"""Probes: what a runtime does across operations, shown by small modules whose bits tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from topos.judge.target import RunError, Target
from topos.runtimes.interpreter.program import Array
from topos.runtimes.interpreter.run import built
from topos.stablehlo import parse
from topos.stablehlo.types import ELEMENTS

COUNT: Final = 1000
MULTIPLY_ADD: Final = """
func.func @main(%a: tensor<{n}x{T}>, %b: tensor<{n}x{T}>, %c: tensor<{n}x{T}>) -> tensor<{n}x{T}> {{
  %0 = stablehlo.multiply %a, %b : tensor<{n}x{T}>
  %1 = stablehlo.add %0, %c : tensor<{n}x{T}>
  return %1 : tensor<{n}x{T}>
}}
"""
CHAIN: Final = """
func.func @main(%a: tensor<{n}x{T}>, %b: tensor<{n}x{T}>) -> tensor<{n}x{T}> {{
  %0 = stablehlo.multiply %a, %b : tensor<{n}x{T}>
  %1 = stablehlo.multiply %0, %a : tensor<{n}x{T}>
  %2 = stablehlo.multiply %1, %b : tensor<{n}x{T}>
  return %2 : tensor<{n}x{T}>
}}
"""
SUM: Final = """
func.func @main(%a: tensor<8x{n}x{T}>) -> tensor<8x{T}> {{
  %zero = stablehlo.constant dense<0.0> : tensor<{T}>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<8x{n}x{T}>, tensor<{T}>) -> tensor<8x{T}>
  return %0 : tensor<8x{T}>
}}
"""
DOT: Final = """
func.func @main(%a: tensor<8x{n}x{T}>, %b: tensor<{n}x{T}>) -> tensor<8x{T}> {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x{n}x{T}>, tensor<{n}x{T}>) -> tensor<8x{T}>
  return %0 : tensor<8x{T}>
}}
"""
THIRD: Final = """
func.func @main(%a: tensor<{n}x{T}>) -> tensor<{n}x{T}> {{
  %0 = stablehlo.constant dense<3.0> : tensor<{n}x{T}>
  %1 = stablehlo.divide %a, %0 : tensor<{n}x{T}>
  return %1 : tensor<{n}x{T}>
}}
"""
CANCELLED: Final = """
func.func @main(%a: tensor<{n}x{T}>, %b: tensor<{n}x{T}>) -> tensor<{n}x{T}> {{
  %0 = stablehlo.add %a, %b : tensor<{n}x{T}>
  %1 = stablehlo.subtract %0, %b : tensor<{n}x{T}>
  return %1 : tensor<{n}x{T}>
}}
"""


class Probe(NamedTuple):
    """A module for each of some elements; other bits than the oracle's say yes."""

    question: str
    text: str
    elements: tuple[str, ...]


PROBES: Final = (
    Probe("contracts a * b + c", MULTIPLY_ADD, ("f32", "f64")),
    Probe("keeps excess precision in a chain of products", CHAIN, ("bf16", "f16")),
    Probe("adds a sum in another order", SUM, ("f32", "f64")),
    Probe("adds the products of a dot in another order or precision", DOT, ("f32", "bf16")),
    Probe("rewrites x / 3", THIRD, ("f32", "f64")),
    Probe("cancels (a + b) - b", CANCELLED, ("f32", "f64")),
)


def probed(target: Target) -> dict[str, str]:
    """Returns what each probe found of a runtime: "no", or yes with how many results differ."""
    return {
        f"{probe.question}, {element}": _answer(target, probe, element)
        for probe in PROBES
        for element in probe.elements
    }


def _answer(target: Target, probe: Probe, element: str) -> str:
    module = parse(probe.text.format(T=element, n=COUNT)).verify()
    oracle = built(module)
    generator = np.random.default_rng(0)
    arguments = [_drawn(generator, type.shape, ELEMENTS[element]) for type in oracle.signature[0]]
    expected: Array
    (expected,) = oracle(*arguments)
    try:
        (result,) = target.run(module, arguments, oracle.signature)
    except RunError as error:
        return f"refused: {str(error).splitlines()[0]}"
    count = int((expected != result).sum())
    return f"yes: {count} of {expected.size} differ" if count else "no"


def _drawn(
    generator: np.random.Generator, shape: Sequence[int], dtype: np.dtype[np.generic]
) -> Array:
    return generator.uniform(0.5, 2, shape).astype(dtype)
