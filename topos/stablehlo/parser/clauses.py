"""The clauses of pretty forms: what each `key = value` is called and means in the generic form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from topos.stablehlo.assembly import Clause
from topos.stablehlo.ir import Word

__all__ = [
    "CLAUSES",
    "DIRECTION",
    "KIND",
    "PHRASED",
]

# What opens the attributes that a pretty form leaves to be understood.
DIRECTION: Final = "#stablehlo<comparison_direction "
KIND: Final = "#stablehlo<comparison_type "


def _enumerated(opening: str) -> Callable[[Any], Any]:
    return lambda value: Word(value, opening) if isinstance(value, Word) else None


def _integer(value: Any) -> Any:
    return value if type(value) is int else None


_IOTA: Final = (Clause("dim", "iota_dimension", _integer),)

# The clauses that only make sense together, which `phrases.py` turns into attributes.
PHRASED: Final[Mapping[str, frozenset[str]]] = {
    "stablehlo.reduce_precision": frozenset({"format"}),
}

CLAUSES: Final[Mapping[str, tuple[Clause, ...]]] = {
    "stablehlo.iota": _IOTA,
    "stablehlo.rng": (
        Clause("distribution", "rng_distribution", _enumerated("#stablehlo<rng_distribution ")),
    ),
    "stablehlo.rng_bit_generator": (
        Clause("algorithm", "rng_algorithm", _enumerated("#stablehlo<rng_algorithm ")),
    ),
}
