"""Exact runs have the same bits in every install, and fast ones need not."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from topos import Numerics, Tape, Tensor, f64

# Finite results of a product, sums and maps, forward and backward, as text.
PROGRAM = """
import numpy as np
from topos import Tape, f32, f64, bf16
random = np.random.default_rng(0)
for element in (f64, f32, bf16):
    tape = Tape(element=element)
    w = tape.parameter(random.standard_normal((64, 48)).astype(element.dtype))
    x = tape.input(random.standard_normal((32, 64)).astype(element.dtype))
    y = (x @ w).tanh()
    loss = ((y.exp() + 1.0).ln().sum(1) * y.sum(1)).sum()
    adjoints = tape.differentiate(loss, [w])
    entry = tape.into_network().entry([loss.symbol, *adjoints.roots()], numerics="exact")
    run = entry.lower().forward()
    for symbol in run.symbols():
        print(run.of(symbol).numpy().tobytes().hex())
"""
BLOCKED = """
import sys
sys.modules["numba"] = None
from topos.backend import Backend
assert not Backend.NUMBA.status().ready
"""


def printed(program: str) -> str:
    """Returns what a fresh process prints for `program`."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_exact_runs_have_the_same_bits_with_numba_and_without() -> None:
    pytest.importorskip("numba")
    served = printed(PROGRAM)
    assert len(served.splitlines()) == 6
    assert printed(BLOCKED + PROGRAM) == served


def test_one_process_holds_both_answers() -> None:
    random = np.random.default_rng(1)
    tape = Tape(element=f64)
    x = tape.input(random.standard_normal((64, 300)))
    y = (x @ x.transpose()).symbol
    network = tape.into_network()
    interpreter = network.forward().of(y)
    exact, fast = (
        network.entry([y], numerics=numerics).lower().forward().of(y)
        for numerics in (Numerics.EXACT, Numerics.FAST)
    )
    assert bits(exact) == bits(interpreter)
    np.testing.assert_allclose(fast.numpy(), exact.numpy(), rtol=1e-12, atol=1e-12)
    assert bits(fast) != bits(exact), "the fast product sums in an order of its own"


def bits(tensor: Tensor) -> bytes:
    return tensor.numpy().tobytes()
