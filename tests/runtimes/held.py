"""Results of a plan on a runtime, held against the oracle's bits."""

from __future__ import annotations

from topos import Numerics, Plan, Symbol
from topos.runtimes.distance import same_bits

__all__ = ["has_oracle_bits", "other_bits"]


def has_oracle_bits(plan: Plan, runtime: str, numerics: Numerics | str | None = None) -> bool:
    """Returns whether every result has the oracle's bits."""
    return not other_bits(plan, runtime, numerics)


def other_bits(plan: Plan, runtime: str, numerics: Numerics | str | None = None) -> list[Symbol]:
    """Returns the results that have other bits than the oracle's."""
    run = plan.compile(runtime, numerics=numerics).forward()
    oracle = plan.network.entry(plan.results).interpret()
    return [
        symbol
        for symbol in plan.results
        if not same_bits(oracle.of(symbol).numpy(), run.of(symbol).numpy())
    ]
