"""Carried elements: what files and bundles hold, of which operations take the built-in ones."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from topos.errors import ElementError
from topos.payload.element import ELEMENTS, Element


def _integers(name: str, dtype: Any) -> Element:
    return Element(name, dtype, differentiable=False)


CARRIED: Final[dict[str, Element]] = ELEMENTS | {
    element.name: element
    for element in (
        _integers("i16", np.int16),
        _integers("i8", np.int8),
        _integers("ui64", np.uint64),
        _integers("ui32", np.uint32),
        _integers("ui16", np.uint16),
        _integers("ui8", np.uint8),
    )
}
"""The elements of bundles by name: the built-in ones, and integers of every other whole width."""


@cache
def _by_dtype() -> dict[np.dtype[Any], Element]:
    return {element.dtype: element for element in CARRIED.values()}


def carried_element(dtype: Any) -> Element:
    """Returns the element stored as numpy's `dtype`, or raises `ElementError`."""
    try:
        return _by_dtype()[np.dtype(dtype)]
    except (KeyError, TypeError):
        names = ", ".join(CARRIED)
        raise ElementError(f"no element is stored as {dtype}; there are {names}") from None
