"""Rules of Shardy's annotations, which say where a value lies and not what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.runtimes._stablehlo.claim import Claim, Rule

__all__ = ["RULES"]


def _same(claim: Claim) -> None:
    claim.takes(1)
    claim.attribute("sharding")
    (operand,), (result,) = claim.operands, claim.results
    claim.demand(operand == result, f"results in {operand}, got {result}")


RULES: Final[Mapping[str, Rule]] = {
    "sdy.reshard": _same,
    "sdy.sharding_constraint": _same,
}
