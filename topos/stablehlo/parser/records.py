"""The attributes of StableHLO that have fields or lists of their own, held to their spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lark import Token

from topos.stablehlo.ir import Crossed, Record, Word
from topos.stablehlo.parser.clauses import DOT
from topos.stablehlo.token_error import TokenError

__all__ = ["layout", "record"]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "#stablehlo.channel_handle<": ("handle", "type"),
    DOT: (
        "lhs_batching_dimensions",
        "rhs_batching_dimensions",
        "lhs_contracting_dimensions",
        "rhs_contracting_dimensions",
    ),
    "#stablehlo.gather<": (
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
        "index_vector_dim",
    ),
    "#stablehlo.scatter<": (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
        "index_vector_dim",
    ),
}
# The sides of a convolution's layout, with the axes that each has beside its spatial ones.
_SIDES: Final = ("bf", "io", "bf")


def record(name: Token, opening: str, fields: Iterable[tuple[str, Any]]) -> Record:
    """Returns the fields in the angle brackets that `opening` opens, each of them once.

    The lists of a product that are left out are empty. Raises `TokenError`.
    """
    stated: dict[str, Any] = {}
    known = _KEYS.get(opening)
    for key, value in fields:
        if key in stated:
            raise TokenError(f"{opening}...> has {key} twice", name)
        if known is not None and key not in known:
            raise TokenError(f"{opening}...> has no {key}, but {', '.join(known)}", name)
        if known is not None and not _numbers(value):
            raise TokenError(f"{opening}...> needs integers as {key}", name)
        stated[key] = value
    if opening == DOT:
        stated = {**dict.fromkeys(_KEYS[DOT], ()), **stated}
    return Record(stated, opening)


def layout(name: Token, lists: Crossed) -> Crossed:
    """Returns the layout of a convolution, where each side has its axes once; else raises."""
    if len(lists) != len(_SIDES):
        raise TokenError("a layout is written as [..]x[..]->[..]", name)
    for side, letters in zip(lists, _SIDES, strict=True):
        spatial = [axis for axis in side if type(axis) is int]
        others = [axis for axis in side if type(axis) is not int]
        named = all(isinstance(axis, Word) for axis in others) and sorted(others) == list(letters)
        if not named or sorted(spatial) != list(range(len(spatial))):
            axes = f"{' and '.join(letters)} and axes from 0 on"
            raise TokenError(f"a side of a layout needs {axes}, each once", name)
    return lists


def _numbers(value: Any) -> bool:
    """Returns whether a field is an integer or a list of integers, of which some are dynamic."""
    parts = value if type(value) is tuple else (value,)
    return all(type(part) is int or part == "?" for part in parts)
