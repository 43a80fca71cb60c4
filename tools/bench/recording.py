"""Recording one node beside `jax.make_jaxpr`: an elementwise chain on [8, 8] f32."""

from __future__ import annotations

from typing import Any

try:
    import jax
except ImportError:
    raise SystemExit("this bench compares with jax: pip install 'topos-compiler[xla]'") from None
import numpy as np
from timing import interleaved, report

from topos import Tape

LENGTH = 10_000


def chain(value: Any, weight: Any) -> Any:
    """Returns `value` after LENGTH alternating multiplications and additions."""
    for _ in range(LENGTH // 2):
        value = value * weight + weight
    return value


def record() -> int:
    """Records the chain with topos and returns the number of nodes."""
    tape = Tape()
    value = chain(tape.input(ARRAY), tape.input(ARRAY))
    return len(value.tape.columns.forms)


def trace() -> int:
    """Traces the chain with jax and returns the number of equations."""
    # A fresh function each time: jax would answer a known one from its cache.
    return len(jax.make_jaxpr(lambda value, weight: chain(value, weight))(ARRAY, ARRAY).eqns)


ARRAY = np.ones((8, 8), np.float32)

if __name__ == "__main__":
    assert trace() == LENGTH
    assert record() == LENGTH + 2
    best = interleaved({"topos": record, "jax": trace}, rounds=7)
    ours, theirs = (best[name] / LENGTH * 1e6 for name in ("topos", "jax"))
    report(
        "record a node",
        {"topos, us a node": f"{ours:.2f}", "jax.make_jaxpr, us an equation": f"{theirs:.2f}"},
        theirs / ours,
        "must be at least 8x",
    )
