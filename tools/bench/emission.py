"""Lowering and emitting one node beside jax's `lower` and `as_text`, on the same chain."""

from __future__ import annotations

import time

try:
    import jax
except ImportError:
    raise SystemExit("this bench compares with jax: pip install 'topos-compiler[xla]'") from None
from recording import ARRAY, LENGTH, chain
from timing import report

from topos import Tape

ROUNDS = 7


def ours() -> float:
    """Returns the seconds that topos takes to lower and emit the recorded chain."""
    tape = Tape()
    result = chain(tape.input(ARRAY), tape.input(ARRAY)).symbol
    network = tape.into_network()
    start = time.perf_counter()
    text = network.entry([result]).lower().emit_stablehlo()
    elapsed = time.perf_counter() - start
    assert text.count("stablehlo.") == LENGTH
    return elapsed


def theirs() -> float:
    """Returns the seconds that jax takes to lower the traced chain and print it."""
    traced = jax.jit(lambda value, weight: chain(value, weight)).trace(ARRAY, ARRAY)
    start = time.perf_counter()
    text = traced.lower().as_text()
    elapsed = time.perf_counter() - start
    assert text.count("stablehlo.") == LENGTH
    return elapsed


if __name__ == "__main__":
    pairs = [(ours(), theirs()) for _ in range(ROUNDS)]
    best = [min(column) / LENGTH * 1e6 for column in zip(*pairs, strict=True)]
    report(
        "lower and emit a node",
        {
            "topos lower + emit, us a node": f"{best[0]:.2f}",
            "jax lower + as_text, us an equation": f"{best[1]:.2f}",
        },
        best[1] / best[0],
        "must be at least 8x",
    )
