"""Mapping: one map of a tensor, correctly rounded in every format, in two or three phases.

A bracket returns the two ends of an enclosure of the exact result, rounded to the format: where
they are the same number, so is the rounded result. A lane whose result is NaN has a NaN in it.

To 32 and 16 bits the ends are those of a float64 y within 2**-46 of the exact result, relatively:
y (1 - 2**-46) and y (1 + 2**-46). The few lanes that these leave open, about one in 10**5, go to
integer arithmetic. 2**-46 is 64 units in the last place or more, well beyond the error of any
float64 library numpy is built with (SVML states 4), so the bits do not depend on which that is.

To float64 the quick bracket is a double-double enclosure within about 2**-65 of the result; what it
leaves open, about one lane in 10**4, goes to the refined bracket, which is within about 2**-100,
and what is open then (a result that is all but a midpoint) to integer arithmetic. In the error
bounds of the brackets u stands for 2**-53, the relative error of one float64 operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.conversion import convert
from topos.payload.kernels.double_double import fast_two_sum, two_to
from topos.payload.kernels.exact import ExactMap
from topos.payload.kernels.rounding import BINARY32, BINARY64, FORMATS, Format


class Enclosure(NamedTuple):
    """Exact results as head + tail, within `error` of it absolutely.

    The error covers the rounding of `ends` too, which is u times the tail.
    """

    head: Array
    tail: Array
    error: Array


Ends = tuple[Array, Array]
Bracket = Callable[[Array], Ends]
Approximation = Callable[[Array], Array]

_CHUNK: Final = 4096
_NARROW_CHUNK: Final = 16384
_NARROW_ERROR: Final = 2.0**-46
# One refined bracket is 150 calls of numpy; so many lanes cost integer arithmetic as much time.
_FEW: Final = 8


class Map(NamedTuple):
    """A map by integer arithmetic, by numpy to 2**-46, and by two brackets of float64.

    The refined bracket has the lanes that the quick one leaves open; both may be the same.
    """

    exact: ExactMap
    approximate: Approximation
    quick: Bracket
    refined: Bracket


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
        if target in (BINARY64, BINARY32):
            result = _flat(each, flat, target)
        else:
            result = _table(each, target).take(flat.view(np.uint16))
    return result.reshape(array.shape)


@cache
def _table(each: Map, target: Format) -> Array:
    """Returns the map of every 16-bit number of `target`, ordered by bit pattern."""
    every = np.arange(1 << 16, dtype=np.uint16).view(target.dtype)
    result = _flat(each, every, target)
    result.setflags(write=False)
    return result


def _flat(each: Map, values: Array, target: Format) -> Array:
    """Returns the map of one contiguous axis of `values`."""
    exactly = partial(each.exact.each, target=target)
    result = np.empty(values.size, target.dtype)
    if target is BINARY64:
        lanes = low_ends(each.quick, (values,), result)
        settle(exactly, (values,), result, lanes, each.refined)
    else:
        settle(exactly, (values,), result, near_ends(each.approximate, (values,), result))
    return result


def low_ends(bracket: Callable[..., Ends], arguments: tuple[Array, ...], result: Array) -> Array:
    """Writes the low ends of a bracket to `result`; returns the lanes where both ends differ."""
    pending = [np.empty(0, np.intp)]
    for start in range(0, result.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        low, high = bracket(*(argument[part] for argument in arguments))
        result[part] = low
        # A NaN differs from itself, so that one comparison finds every lane to settle.
        open_lanes = low != high
        if open_lanes.any():
            pending.append(np.flatnonzero(open_lanes) + start)
    return np.concatenate(pending)


def near_ends(
    approximate: Callable[..., Array],
    arguments: tuple[Array, ...],
    result: Array,
    error: float = _NARROW_ERROR,
) -> Array:
    """Writes the low ends, to 32 or 16 bits, of float64 results within a relative `error`.

    Returns the lanes where both ends differ.
    """
    pending, spare = [np.empty(0, np.intp)], np.empty(min(result.size, _NARROW_CHUNK), result.dtype)
    for start in range(0, result.size, _NARROW_CHUNK):
        part = slice(start, start + _NARROW_CHUNK)
        estimate = approximate(*(argument[part].astype(np.float64) for argument in arguments))
        low, high = result[part], spare[: estimate.size]
        for end, share in ((low, 1.0 - error), (high, 1.0 + error)):
            if end.dtype == np.float32:
                np.multiply(estimate, share, out=end, casting="same_kind")
            else:
                end[...] = convert(estimate * share, end.dtype)
        open_lanes = low != high
        if open_lanes.any():
            pending.append(np.flatnonzero(open_lanes) + start)
    return np.concatenate(pending)


def settle(
    exactly: Callable[..., Array],
    arguments: tuple[Array, ...],
    result: Array,
    lanes: Array,
    refined: Callable[..., Ends] | None = None,
) -> None:
    """Writes the final bits of the lanes that no bracket decided yet: NaN, refined, or exact.

    `exactly` is given the arguments of those lanes in float64.
    """
    if not lanes.size:
        return
    canonical(result)
    lanes = lanes[result[lanes] == result[lanes]]
    if refined is not None:
        lanes = refine(refined, arguments, result, lanes)
    if lanes.size:
        result[lanes] = exactly(*(argument[lanes].astype(np.float64) for argument in arguments))


def refine(
    refined: Callable[..., Ends], arguments: tuple[Array, ...], result: Array, lanes: Array
) -> Array:
    """Writes the results of the lanes that `refined` decides and returns the other lanes."""
    if lanes.size < _FEW:
        return lanes
    found = np.empty(lanes.size)
    still_open = low_ends(refined, tuple(each[lanes] for each in arguments), found)
    result[lanes] = found
    return lanes[still_open]


def ends(head: Array, tail: Array, error: Array) -> Ends:
    """Returns both ends of an enclosure, head + tail -+ error, rounded to float64."""
    return head + (tail - error), head + (tail + error)


def patch(target: Ends, where: Array, low: Any, high: Any = None) -> Ends:
    """Returns `target` with the ends of the lanes `where` written in place, one for both or two."""
    target[0][where] = low
    target[1][where] = low if high is None else high
    return target


def scaled_ends(enclosure: Enclosure, power: Array) -> Ends:
    """Returns both ends times 2**power, rounded once, also where they are subnormal.

    Heads are zero or positive, powers from -1100 to 1024. The quantum of subnormal numbers is
    q = 2**(-1074 - power) at the scale of the head. Adding A = 2**52 q to a head below A rounds
    it to a multiple of q; the rest, at most q/2, joins the tail, at most q/2 too, and both sums
    there round by less than A 2**-105. All scalings are exact or overflow.
    """
    anchor = two_to(np.maximum(-1022 - power, -1023))
    head, tail = fast_two_sum(enclosure.head, enclosure.tail)
    anchor = np.where(head < anchor, anchor, 0.0)
    head, rest = fast_two_sum(anchor, head)
    low, high = ends(head, rest + tail, enclosure.error + anchor * 2.0**-104)
    # 2**1024 is no float64, nor is 2**-1080: scale twice.
    half = power >> 1
    first, second = two_to(half), two_to(power - half)
    return (low - anchor) * first * second, (high - anchor) * first * second
