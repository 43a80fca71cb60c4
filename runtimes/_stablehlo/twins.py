"""Operations of MHLO, read as those of StableHLO or CHLO that are the same under another name."""

from __future__ import annotations

from typing import Any, Final

from topos.runtimes._stablehlo.dense import decoded
from topos.runtimes._stablehlo.syntax import Attributes, Dense, Packed, Tensor

__all__ = ["MHLO", "as_arrays", "twin"]

MHLO: Final = "mhlo."
_CHLO: Final = frozenset(
    ["acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "mulhi", "sinh"]
)
# What neither dialect has.
_ALONE: Final = frozenset(
    [
        "add_dependency",
        "async_update",
        "bitcast",
        "copy",
        "domain",
        "fusion",
        "ragged_dot",
        "scan",
        "minimum_broadcast_shapes",
        "stochastic_convert",
        "topk",
        "trace",
    ]
)
# The lists of integers and of truth values that MHLO keeps in dense constants, each of one axis.
_ARRAYS: Final = frozenset(
    [
        "base_dilations",
        "broadcast_dimensions",
        "broadcast_sizes",
        "dimensions",
        "edge_padding_high",
        "edge_padding_low",
        "fft_length",
        "interior_padding",
        "known_expanding_dimensions",
        "known_nonexpanding_dimensions",
        "lhs_dilation",
        "limit_indices",
        "permutation",
        "rhs_dilation",
        "slice_sizes",
        "start_indices",
        "strides",
        "window_dilations",
        "window_dimensions",
        "window_reversal",
        "window_strides",
    ]
)


def twin(name: str) -> str:
    """Returns the name that an operation of MHLO has in StableHLO or CHLO; any other is its own."""
    kind = name[len(MHLO) :]
    if not name.startswith(MHLO) or kind in _ALONE or "." in kind:
        return name
    return f"chlo.{kind}" if kind in _CHLO else f"stablehlo.{kind}"


def as_arrays(attributes: Attributes) -> dict[str, Any]:
    """Returns the attributes of a twin, whose lists of numbers StableHLO keeps in arrays."""
    return {
        key: _array(value) if key in _ARRAYS and isinstance(value, Dense) else value
        for key, value in attributes.items()
    }


def _array(value: Dense) -> Any:
    match value.type:
        case Tensor((int(),), "i64" | "i1" as element, ""):
            return Packed(decoded(value).tolist(), element)
    return value
