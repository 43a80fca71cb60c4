"""Traits: which operations have each, from which every set of names is computed."""

from __future__ import annotations

import pytest

from topos.stablehlo.dialect import names, with_trait
from topos.stablehlo.traits import Trait

COMPUTED = ["add", "and", "maximum", "minimum", "multiply", "or", "xor"]
MOVED = [
    "broadcast",
    "broadcast_in_dim",
    "reshape",
    "reverse",
    "slice",
    "transpose",
    "concatenate",
    "pad",
    "gather",
    "iota",
    "select",
    "convert",
    "constant",
    "dynamic_slice",
    "dynamic_update_slice",
    "tuple",
    "get_tuple_element",
    "bitcast_convert",
    "real_dynamic_slice",
    "dynamic_reshape",
    "dynamic_broadcast_in_dim",
    "dynamic_iota",
    "dynamic_pad",
    "rng",
    "dynamic_gather",
    "torch_index_select",
    "optimization_barrier",
    "custom_call",
    "sort",
    "rng_bit_generator",
]
HAVE = {
    Trait.LAYOUT: MOVED[:6],
    Trait.CARRIES: ["case", "if", "optimization_barrier", "while"],
    Trait.CHOOSES: ["case", "if"],
    Trait.COMMUTATIVE: COMPUTED,
    Trait.CONSTANT: ["constant"],
    Trait.TERMINATOR: ["return"],
    Trait.PAIRWISE: ["optimization_barrier"],
    Trait.WITHOUT_RESULT: ["return"],
    Trait.MOVES: MOVED,
    Trait.DECIDES: [
        *("ceil", "compare", "convert", "floor", "round_nearest_afz", "round_nearest_even", "sign"),
        "sort",
    ],
    Trait.UNDERFLOWS: ["divide", "exponential", "multiply", "power"],
    Trait.ASYNCHRONOUS: [
        *("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute"),
        *("collective_reduce", "dynamic_slice", "dynamic_update_slice", "reduce_scatter", "slice"),
    ],
}
# The functions of one element, and what chooses or converts at its own place.
ELEMENTWISE = [
    "abs",
    "atan2",
    "bitcast_convert",
    "cbrt",
    "ceil",
    "clamp",
    "compare",
    "complex",
    "constant",
    "convert",
    "cosine",
    "divide",
    "count_leading_zeros",
    "exponential",
    "exponential_minus_one",
    "floor",
    "imag",
    "is_finite",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "not",
    "popcnt",
    "power",
    "real",
    "reduce_precision",
    "remainder",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "select",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sine",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
]


@pytest.mark.parametrize("trait", HAVE, ids=lambda trait: str(trait.name))
def test_a_trait_is_that_of_these_operations(trait: Trait) -> None:
    assert _of_stablehlo(trait) == sorted(HAVE[trait])


def test_what_works_element_by_element() -> None:
    assert _of_stablehlo(Trait.ELEMENTWISE) == sorted(ELEMENTWISE + COMPUTED)
    # Of CHLO all but those that are broadcast or work along an axis.
    others = ("broadcast_", "ragged_dot", "scan", "top_k")
    kinds = [name for name in names() if name.startswith("chlo.")]
    alike = [name for name in kinds if not name.removeprefix("chlo.").startswith(others)]
    assert [name for name in with_trait(Trait.ELEMENTWISE) if "chlo." in name] == alike


def _of_stablehlo(trait: Trait) -> list[str]:
    prefix = "stablehlo."
    return [each.removeprefix(prefix) for each in with_trait(trait) if each.startswith(prefix)]
