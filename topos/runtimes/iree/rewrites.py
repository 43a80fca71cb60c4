"""Operations that IREE gets wrong, each written anew in StableHLO that it gets right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topos.runtimes._complex_order import ORDERING, order_complex
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import operations_of
from topos.runtimes.iree.circular import cosine, sine
from topos.runtimes.iree.complex import complex_bits, complex_constant
from topos.runtimes.iree.maps import MAPS, NARROW, mapped
from topos.runtimes.iree.orders import approx_top_k, keep_ties, top_k
from topos.runtimes.iree.random import random_bits
from topos.runtimes.iree.site import Site

# Returns the values that stand for the operation's results, or None where it may stay.
Rule = Callable[[Site], list[Binding] | None]

RULES: Final[Mapping[str, Rule]] = {
    **MAPS,
    "chlo.top_k": top_k,
    "stablehlo.bitcast_convert": complex_bits,
    "stablehlo.constant": complex_constant,
    "stablehlo.cosine": mapped(NARROW, cosine),
    "stablehlo.custom_call": approx_top_k,
    "stablehlo.rng_bit_generator": random_bits,
    "stablehlo.sine": mapped(NARROW, sine),
    "stablehlo.sort": keep_ties,
}


def rewrite(ir: Binding, module: Binding) -> None:
    """Replaces what IREE computes wrongly; a module without any of it stays as it is.

    Raises `UnsupportedError` for such an operation in a form that has no rewriting.
    """
    for operation in operations_of(ir, module):
        if operation.name in ORDERING:
            order_complex(ir, operation)
        else:
            _rewrite(ir, operation)


def _rewrite(ir: Binding, operation: Binding) -> None:
    name, rule = operation.name, RULES.get(operation.name)
    if rule is None:
        return
    site = Site(ir, operation)
    values = rule(site)
    if values is None:
        return
    made = site.write.made
    for result, value in zip(site.results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()
    for each in made:
        # A body may hold what another rule is for, and its own operation in a form that is right.
        if each.name != name:
            _rewrite(ir, each)
