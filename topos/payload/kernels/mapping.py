"""Mapping: one map of a tensor, correctly rounded in every format."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError
from topos.payload.kernels import exact, maps_narrow, maps_wide
from topos.payload.kernels.canonical import Array
from topos.payload.kernels.rounding import BINARY32, BINARY64, FORMATS, Format

__all__ = ["Map", "format_of", "mapped"]


class Map(NamedTuple):
    """A map by integer arithmetic, by numpy to 2**-46, and by two brackets of float64.

    The refined bracket has the lanes that the quick one leaves open; both may be the same.
    """

    exact: exact.ExactMap
    approximate: maps_narrow.Approximation
    quick: maps_wide.Bracket
    refined: maps_wide.Bracket


def format_of(name: str, array: Array) -> Format:
    """Returns the format of `array`; raises `ElementError` for elements that have none."""
    try:
        return FORMATS[array.dtype]
    except KeyError:
        raise ElementError(f"{name} needs f64, f32, f16 or bf16, got {array.dtype}") from None


def mapped(each: Map, values: npt.ArrayLike) -> Array:
    """Returns `each` of every element, correctly rounded, as the functions of `maps` do."""
    array = np.asarray(values)
    target = format_of(each.exact.name, array)
    flat = np.ascontiguousarray(array).reshape(-1)
    with np.errstate(all="ignore"):
        result = _flat(each, flat, target)
    return result.reshape(array.shape)


def _flat(each: Map, flat: Array, target: Format) -> Array:
    if target is BINARY32:
        return maps_narrow.single(each.exact, each.approximate, flat)
    if target is BINARY64:
        return maps_wide.double(each.exact, each.quick, each.refined, flat)
    return maps_narrow.table(each.exact, each.approximate, target).take(flat.view(np.uint16))
