"""Rules of random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._sizes import known, static_sizes
from topos.stablehlo.elements import (
    FLOATS,
    INTEGERS,
    PREDICATE,
    demand_element,
)
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import demand_result, ranked, scalar

__all__ = ["RULES"]

_ALGORITHMS: Final = ("DEFAULT", "PHILOX", "THREE_FRY")
_DISTRIBUTIONS: Final = ("NORMAL", "UNIFORM")


def _rng(claim: OpView) -> None:
    claim.takes(3)
    first, second = (scalar(claim, type, "parameter") for type in claim.operands[:2])
    demand_element(claim, first, PREDICATE | INTEGERS | FLOATS)
    if first.element != second.element:
        claim.refuse(f"needs parameters of one element, got {first} and {second}")
    distribution = claim.word("rng_distribution")
    if distribution not in _DISTRIBUTIONS:
        claim.refuse(f"needs a distribution of {' '.join(_DISTRIBUTIONS)}, got {distribution}")
    if distribution == "NORMAL" and first.element not in FLOATS:
        claim.refuse(f"needs floating-point parameters of NORMAL, got {first}")
    count = static_sizes(claim, 2, "shape")
    values = known(claim, 2)
    if values is not None and any(value < 0 for value in values):
        claim.refuse(f"needs a shape of 0 or more, got {list(values)}")
    demand_result(claim, Tensor((None,) * count if values is None else values, first.element))


def _rng_bit_generator(claim: OpView) -> None:
    if len(claim.operands) != 1 or len(claim.results) != 2:
        counts = f"{len(claim.operands)} and {len(claim.results)}"
        claim.refuse(f"needs 1 operand and 2 results, got {counts}")
    state = ranked(claim, claim.operands[0], "initial state")
    bits = ranked(claim, claim.results[1], "result")
    demand_element(claim, state, INTEGERS | FLOATS)
    demand_element(claim, bits, INTEGERS | FLOATS)
    algorithm = claim.word("rng_algorithm")
    if algorithm not in _ALGORITHMS:
        claim.refuse(f"needs an algorithm of {' '.join(_ALGORITHMS)}, got {algorithm}")
    if None in bits.shape:
        claim.refuse(f"needs a static shape, got {bits}")
    demand_result(claim, state)


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.rng": _rng,
    "stablehlo.rng_bit_generator": _rng_bit_generator,
}
