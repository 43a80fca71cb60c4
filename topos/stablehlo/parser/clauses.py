"""The clauses of pretty forms: what each `key = value` is called and means in the generic form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from topos.stablehlo.assembly import Clause
from topos.stablehlo.ir import Packed, Record, Word

__all__ = [
    "ALGORITHM",
    "CLAUSES",
    "DIRECTION",
    "DOT",
    "KIND",
    "PHRASED",
    "PRECISION",
    "axes",
    "precisions",
    "record",
]

# What opens the attributes that a pretty form leaves to be understood.
ALGORITHM: Final = "#stablehlo.dot_algorithm<"
DIRECTION: Final = "#stablehlo<comparison_direction "
DOT: Final = "#stablehlo.dot<"
KIND: Final = "#stablehlo<comparison_type "
PRECISION: Final = "#stablehlo<precision "

# Returns the attribute that a clause's value spells, or `None` where it spells none.
Reading = Callable[[Any], Any]


def axes(value: Any) -> Any:
    """Returns a list of integers as an array."""
    if type(value) is tuple and all(type(part) is int for part in value):
        return Packed(value)
    return None


def precisions(value: Any) -> Any:
    """Returns a list of words as those of precisions."""
    if type(value) is tuple and all(isinstance(part, Word) for part in value):
        return tuple([Word(part, PRECISION) for part in value])
    return None


def record(opening: str) -> Reading:
    """Returns the reading of named fields as an attribute that opens with `opening`."""
    return lambda value: Record(value, opening) if isinstance(value, dict) else None


def _enumerated(opening: str) -> Reading:
    return lambda value: Word(value, opening) if isinstance(value, Word) else None


def _integer(value: Any) -> Any:
    return value if type(value) is int else None


def _string(value: Any) -> Any:
    return value if type(value) is str else None


def _truth(value: Any) -> Any:
    return value if type(value) is bool else None


_DIMS: Final = (Clause("dims", "broadcast_dimensions", axes),)
_DIM: Final = (Clause("dim", "dimension", _integer),)
_CONFIG: Final = (Clause("config", "einsum_config", _string),)
_IOTA: Final = (Clause("dim", "iota_dimension", _integer),)

# The clauses that only make sense together, which `phrases.py` turns into attributes.
PHRASED: Final[Mapping[str, frozenset[str]]] = {
    "stablehlo.convolution": frozenset({"dim_numbers", "window"}),
    "stablehlo.dot_general": frozenset(
        {"algorithm", "batching_dims", "contracting_dims", "precision"}
    ),
    "stablehlo.dynamic_conv": frozenset({"dim_numbers", "window"}),
    "stablehlo.reduce_precision": frozenset({"format"}),
}

CLAUSES: Final[Mapping[str, tuple[Clause, ...]]] = {
    "chlo.scan": (Clause("dimension", "dimension", _integer),),
    "chlo.top_k": (Clause("k", "k", _integer), Clause("is_stable", "is_stable", _truth, True)),
    "stablehlo.broadcast": (Clause("sizes", "broadcast_sizes", axes),),
    "stablehlo.broadcast_in_dim": _DIMS,
    "stablehlo.cholesky": (Clause("lower", "lower", _truth, True),),
    "stablehlo.concatenate": _DIM,
    "stablehlo.dot": (Clause("precision", "precision_config", precisions, True),),
    "stablehlo.dynamic_broadcast_in_dim": _DIMS,
    "stablehlo.dynamic_iota": _IOTA,
    "stablehlo.dynamic_slice": (Clause("sizes", "slice_sizes", axes),),
    "stablehlo.einsum": _CONFIG,
    "stablehlo.fft": (
        Clause("type", "fft_type", _enumerated("#stablehlo<fft_type ")),
        Clause("length", "fft_length", axes),
    ),
    "stablehlo.get_dimension_size": _DIM,
    "stablehlo.iota": _IOTA,
    "stablehlo.pad": (
        Clause("low", "edge_padding_low", axes),
        Clause("high", "edge_padding_high", axes),
        Clause("interior", "interior_padding", axes),
    ),
    "stablehlo.reduce": (Clause("dimensions", "dimensions", axes),),
    "stablehlo.reverse": (Clause("dims", "dimensions", axes),),
    "stablehlo.rng": (
        Clause("distribution", "rng_distribution", _enumerated("#stablehlo<rng_distribution ")),
    ),
    "stablehlo.rng_bit_generator": (
        Clause("algorithm", "rng_algorithm", _enumerated("#stablehlo<rng_algorithm ")),
    ),
    "stablehlo.set_dimension_size": _DIM,
    "stablehlo.transpose": (Clause("dims", "permutation", axes),),
    "stablehlo.unary_einsum": _CONFIG,
}
