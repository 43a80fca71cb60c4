"""Storage: numbers, lists and arrays taken in as immutable arrays of one element."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError
from topos.payload import kernels
from topos.payload.arithmetic import fitting
from topos.payload.element import Element, element_of
from topos.payload.shape import Shape
from topos.payload.transfer import transfer

Array = npt.NDArray[Any]

# XLA and IREE read memory at such an address in place.
ALIGNMENT: Final = 64
# Below this many bytes a copy costs a runtime less than the address costs here.
SMALL: Final = 1 << 12


def stored(
    payload: npt.ArrayLike, default: Element, element: Element | None
) -> tuple[Array, Element]:
    """Returns `payload` as a read-only copy with its element.

    An array brings the element of its own dtype; Python numbers and lists take `default`. A given
    `element` must be the array's own, for nothing converts silently.
    """
    if element is not None and not isinstance(element, Element):
        raise ElementError(f"an element is an Element such as f32, got {element!r}")
    own = getattr(payload, "dtype", None)
    if own is None:
        chosen = default if element is None else element
        return _from_python(payload, chosen), chosen
    chosen = element_of(own) if element is None else element
    if chosen.dtype != own:
        raise ElementError(f"a payload of {chosen} needs an array of {chosen.dtype}, got {own}")
    return _copied(np.asarray(payload)), chosen


def _from_python(payload: npt.ArrayLike, element: Element) -> Array:
    try:
        array = np.array(payload)
    except (TypeError, ValueError):
        raise ElementError(f"a payload of {element} needs numbers, got {payload!r}") from None
    if spells(element):
        if array.dtype.kind not in "fiub":
            raise ElementError(f"a payload of {element} needs numbers, got {payload!r}")
        return own_literals(array, element)
    if array.size == 0:
        return frozen(array.astype(element.dtype))
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and not _is_float(element)):
        for number in array.flat:
            # numpy takes integers beyond 64 bits for objects.
            if isinstance(number, int):
                literal(number, element)
        raise ElementError(f"a payload of {element} needs numbers, got {payload!r}")
    if element.dtype.kind in "iu":
        _demand_fit(element, int(array.min()), int(array.max()))
    return _rounded(array, element)


def literal(number: float | int, element: Element) -> Array:
    """Returns a rank-0 array of `number` rounded once to `element`, or as the element spells it."""
    if spells(element):
        return own_literals(np.asarray(number), element)
    if not isinstance(number, numbers.Integral):
        if not _is_float(element):
            raise ElementError(f"a literal beside {element} must be an integer, got {number!r}")
        return _rounded(np.asarray(number, np.float64), element)
    if element.dtype.kind in "iu":
        _demand_fit(element, int(number), int(number))
    elif not -(2**63) <= number < 2**63:
        raise _too_long(int(number), element)
    return _rounded(np.asarray(number, np.int64), element)


def spells(element: Element) -> bool:
    """Returns whether what a number becomes is the element's own to say."""
    if element.native:
        return False
    return element.dtype.names is not None or "literal" in element.arithmetic.functions


def own_literals(numbers: Array, element: Element) -> Array:
    """Returns `numbers`, float64 or int64, as the arithmetic of `element` spells them."""
    element.demand("a literal", "literal")
    # numpy takes integers beyond 63 bits for unsigned ones, and beyond 64 for objects.
    for number in numbers.flat if numbers.dtype.kind in "uO" else ():
        if isinstance(number, int | np.integer) and number >= 2**63:
            raise _too_long(int(number), element)
        if isinstance(number, int) and number < -(2**63):
            raise _too_long(number, element)
    wide = np.int64 if numbers.dtype.kind in "iub" else np.float64
    function = getattr(element.arithmetic, "literal")  # noqa: B009  # Demanded above.
    try:
        array = function(numbers.astype(wide))
    except Exception as error:
        raise ElementError(
            f"literal of {element} failed for {numbers.tolist()!r}: {type(error).__name__}: {error}"
        ) from error
    fitted = fitting("literal", element.arithmetic, array, numbers.shape, element.dtype)
    return frozen(np.array(fitted, order="C"))


def _too_long(number: int, element: Element) -> ElementError:
    """Returns the error of an integer beyond 64 bits, which only floats hold."""
    needs = f"an integer literal of {element} needs to fit in 64 bits, got {_shown(number)}"
    if not _is_float(element):
        return ElementError(needs)
    try:
        written = float(number)
    except OverflowError:
        return ElementError(_beyond(_shown(number), number, element))
    try:
        _rounded(np.asarray(written), element)
    except ElementError as error:
        return error
    return ElementError(f"{needs}: write it as a float, {written!r}")


def _rounded(numbers: Array, element: Element) -> Array:
    """Returns numbers rounded once to an element; refuses one that would become infinite."""
    array = kernels.conversion.convert(numbers, element.dtype)
    if _is_float(element) and not np.isfinite(array).all():
        lost = numbers[np.isfinite(numbers) & ~np.isfinite(array)]
        if lost.size:
            raise ElementError(_beyond(str(lost.item(0)), lost.item(0), element))
    return frozen(array)


def _beyond(number: str, sign: float, element: Element) -> str:
    # Infinity's neighbour: numpy tells the limits of its own formats only.
    largest = float(ends(element.dtype)[1])
    instead = "-inf" if sign < 0 else "inf"
    if np.isfinite(largest):
        instead = f"{math.copysign(largest, sign):.5g}"
    else:
        largest = float(np.nextafter(np.array(np.inf, element.dtype), np.array(0, element.dtype)))
    wider = ", or record in f64" if element.dtype.itemsize < 8 else ""
    return (
        f"{number} is beyond {element}, whose largest number is about {largest:.5g}:"
        f" write {instead}{wider}"
    )


def ends(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Returns the least and the greatest number of a floating dtype: infinities where it has any.

    A format without infinities has eight bits, of which the finite numbers are few.
    """
    with np.errstate(all="ignore"):
        low, high = np.array([-np.inf, np.inf]).astype(dtype)
    if low == low and high == high:
        return low, high
    every = np.arange(256, dtype=np.uint8).view(dtype)
    numbers = every.astype(np.float64)
    return every[np.nanargmin(numbers)], every[np.nanargmax(numbers)]


def _demand_fit(element: Element, least: int, greatest: int) -> None:
    limits = np.iinfo(element.dtype)
    if least < limits.min or greatest > limits.max:
        got = least if least < limits.min else greatest
        wider = ": record in i64" if -(2**63) <= got < 2**63 else ""
        raise ElementError(
            f"{_shown(got)} is beyond {element}, which holds {limits.min} to {limits.max}{wider}"
        )


def _shown(number: int) -> str:
    # Thousands of digits help nobody, and Python does not write them.
    bits = number.bit_length()
    return str(number) if bits <= 128 else f"an integer of {bits} bits"


def row_major(array: Array) -> Array:
    """Returns `array` itself where its elements lie in row-major order, else a frozen copy."""
    return array if array.flags.c_contiguous else _copied(array)


def aligned(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    room: Callable[[int, type[np.uint8]], Array] = np.empty,
) -> Array:
    """Returns an uninitialized C-contiguous array at a multiple of 64 bytes.

    It views the memory that it lies in, which `room` makes.
    """
    size = math.prod(shape) * dtype.itemsize
    memory = room(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def filled(
    shape: tuple[int, ...], dtype: np.dtype[Any], fill: Callable[[memoryview], object]
) -> Array:
    """Returns a frozen, aligned array whose bytes `fill` writes, little end first."""
    array = aligned(shape, dtype)
    fill(array.reshape(-1).view(np.uint8).data)
    if sys.byteorder == "big":
        array.byteswap(inplace=True)
    return _owned(array)


def iota(shape: Shape) -> Array:
    """Returns the i64 row-major position of each element of `shape`."""
    return frozen(np.arange(np.prod(shape, dtype=np.int64), dtype=np.int64).reshape(shape))


def _copied(array: Array) -> Array:
    """Returns a frozen copy in row-major order, placed for the runtimes where it is large."""
    if array.nbytes < SMALL:
        return frozen(np.array(array, order="C"))
    if _is_one_zero(array):
        # The system gives such memory page by page, once a page is written to.
        return _owned(aligned(array.shape, array.dtype, np.zeros))
    copy = aligned(array.shape, array.dtype)
    transfer(array, copy)
    return _owned(copy)


def settled(array: Array) -> Array:
    """Returns `array` where it is row-major, frozen, aligned and alone in its memory, or a copy."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    alone = owner.base is None and owner.nbytes <= array.nbytes + ALIGNMENT
    frozen_whole = not array.flags.writeable and not owner.flags.writeable
    placed = array.nbytes < SMALL or array.ctypes.data % ALIGNMENT == 0
    in_place = array.flags.c_contiguous and alone and frozen_whole and placed
    return array if in_place else _copied(array)


def _is_one_zero(array: Array) -> bool:
    """Returns whether an array repeats one number whose bits are all zero."""
    repeats = all(
        step == 0 or extent == 1 for step, extent in zip(array.strides, array.shape, strict=True)
    )
    return repeats and not array[(slice(1),) * array.ndim].tobytes().strip(b"\0")


def _owned(array: Array) -> Array:
    """Returns an array of `aligned` frozen with the memory that it views.

    A runtime takes over what nobody can write to, through what it views neither.
    """
    assert isinstance(array.base, np.ndarray)
    frozen(array.base)
    return frozen(array)


def frozen(array: Array) -> Array:
    """Returns `array` made read-only."""
    array.flags.writeable = False
    return array


def _is_float(element: Element) -> bool:
    return element.differentiable or element.dtype.kind == "f"
