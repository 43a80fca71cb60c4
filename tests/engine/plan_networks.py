"""Networks that several tests of plans record."""

from __future__ import annotations

from topos import Network, Symbol, Tape


def two_branches() -> tuple[Network, dict[str, Symbol]]:
    tape = Tape()
    w = tape.parameter([1.0, 2.0], name="w")
    x = tape.input(shape=(2,), name="x")
    unused = tape.input(shape=(5,), name="unused")
    hidden = (w * x).named("hidden")
    far = unused.exp().sum().named("far")
    near = hidden.tanh().sum().named("near")
    names = {"hidden": hidden.symbol, "far": far.symbol, "near": near.symbol}
    return tape.into_network(), names
