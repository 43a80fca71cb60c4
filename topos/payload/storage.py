"""Storage: numbers, lists and arrays taken in as immutable arrays of one element."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError
from topos.payload import kernels
from topos.payload.element import Element, element_of, i64
from topos.payload.shape import Shape

__all__ = ["frozen", "iota", "literal", "stored"]

Array = npt.NDArray[Any]


def stored(
    payload: npt.ArrayLike, default: Element, element: Element | None
) -> tuple[Array, Element]:
    """Returns `payload` as a read-only copy with its element.

    An array brings the element of its own dtype; Python numbers and lists take `default`. A given
    `element` must be the array's own, for nothing converts silently.
    """
    own = getattr(payload, "dtype", None)
    if own is None:
        chosen = default if element is None else element
        return _from_python(payload, chosen), chosen
    chosen = element_of(own) if element is None else element
    if chosen.dtype != own:
        raise ElementError(f"a payload of {chosen} needs an array of {chosen.dtype}, got {own}")
    return frozen(np.array(payload)), chosen


def _from_python(payload: npt.ArrayLike, element: Element) -> Array:
    try:
        array = np.array(payload)
    except (TypeError, ValueError):
        raise ElementError(f"a payload of {element} needs numbers, got {payload!r}") from None
    if array.size == 0:
        return frozen(array.astype(element.dtype))
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and not _is_float(element)):
        raise ElementError(f"a payload of {element} needs numbers, got {payload!r}")
    if element.dtype.kind in "iu":
        _demand_fit("a payload", element, int(array.min()), int(array.max()))
    return frozen(kernels.conversion.convert(array, element.dtype))


def literal(number: float | int, element: Element) -> Array:
    """Returns a rank-0 array of `number` rounded once to `element`."""
    if not isinstance(number, numbers.Integral):
        if not _is_float(element):
            raise ElementError(f"a literal beside {element} must be an integer, got {number!r}")
        return frozen(kernels.conversion.convert(np.asarray(number, np.float64), element.dtype))
    # An integer is exact as an i64, and a larger one is no literal of any element.
    limit = element if element.dtype.kind in "iu" else i64
    _demand_fit("a literal", limit, int(number), int(number))
    return frozen(kernels.conversion.convert(np.asarray(number, np.int64), element.dtype))


def _demand_fit(what: str, element: Element, least: int, greatest: int) -> None:
    limits = np.iinfo(element.dtype)
    if least < limits.min or greatest > limits.max:
        got = least if least < limits.min else greatest
        raise ElementError(f"{what} of {element} must fit it, got {got}")


def iota(shape: Shape) -> Array:
    """Returns the i64 row-major position of each element of `shape`."""
    return frozen(np.arange(np.prod(shape, dtype=np.int64), dtype=np.int64).reshape(shape))


def frozen(array: Array) -> Array:
    """Returns `array` made read-only."""
    array.flags.writeable = False
    return array


def _is_float(element: Element) -> bool:
    return element.differentiable or element.dtype.kind == "f"
