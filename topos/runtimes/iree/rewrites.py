"""Operations that IREE gets wrong, each written anew in StableHLO that it gets right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from topos.runtimes._complex_order import ORDERING, order_complex
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import inlined, operations_of
from topos.runtimes.iree.approx import approx_top_k
from topos.runtimes.iree.circular import CIRCULAR
from topos.runtimes.iree.complex import complex_bits, complex_constant
from topos.runtimes.iree.maps import MAPS
from topos.runtimes.iree.orders import keep_ties, top_k
from topos.runtimes.iree.random import random_bits
from topos.runtimes.iree.site import require_static

__all__ = ["rewrite"]

# Returns a function whose body stands for the operation, or None where it may stay.
Rule = Callable[[Any, Binding], str | None]

RULES: Final[Mapping[str, Rule]] = {
    **CIRCULAR,
    **MAPS,
    "chlo.top_k": top_k,
    "stablehlo.bitcast_convert": complex_bits,
    "stablehlo.constant": complex_constant,
    "stablehlo.custom_call": approx_top_k,
    "stablehlo.rng_bit_generator": random_bits,
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
    text = rule(ir, operation) if rule else None
    if text is None:
        return
    require_static(operation)
    made = inlined(ir, operation, text, operation.operands)
    for result, value in zip(operation.results, made.results, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()
    for each in made.operations:
        # A body may hold what another rule is for, and its own operation in a form that is right.
        if each.name != name:
            _rewrite(ir, each)
