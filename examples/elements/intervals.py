"""Intervals as an element: a recorded network over them encloses what exact arithmetic gives.

An interval is two float64, and every function rounds its lower end down and its upper end up. So a
run encloses both the result of f64 and the result without any rounding. A comparison has an answer
where the intervals do not overlap, and raises where they do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos import Activation, Arithmetic, Element, Mlp, Network, Tape, f32, f64, init
from topos.reference import maps

__all__ = ["INTERVAL", "interval", "record"]

Array = npt.NDArray[Any]
STORAGE: Final = np.dtype([("low", np.float64), ("high", np.float64)])


def interval(low: npt.ArrayLike, high: npt.ArrayLike) -> Array:
    """Returns the array of the intervals from `low` to `high`."""
    array = np.empty(np.broadcast_shapes(np.shape(low), np.shape(high)), STORAGE)
    array["low"], array["high"] = low, high
    return array


def outward(low: Array, high: Array) -> Array:
    """Returns the intervals one float64 wider at both ends, which covers one rounding."""
    return interval(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def widest(ends: list[Array]) -> Array:
    """Returns the intervals around all of `ends`, rounded outward; zero times infinity is zero."""
    known = [np.where(np.isnan(end), 0.0, end) for end in ends]
    return outward(np.minimum.reduce(known), np.maximum.reduce(known))


def growing(function: Callable[[Array], Array], array: Array) -> Array:
    """Returns the image under a function that grows and is rounded correctly."""
    return outward(function(array["low"]), function(array["high"]))


def within(array: Array, least: float, most: float) -> Array:
    """Returns the intervals cut to what a function can give at all."""
    return interval(np.maximum(array["low"], least), np.minimum(array["high"], most))


def settled(true: Array, false: Array, left: Array, right: Array) -> Array:
    """Returns where a comparison is true; raises `ValueError` where it is undecided."""
    open_ = ~(true | false)
    if np.any(open_):
        place = tuple(np.argwhere(open_)[0])
        raise ValueError(
            f"the intervals {spelled(left[place])} and {spelled(right[place])} overlap"
        )
    return true


def spelled(scalar: Any) -> str:
    """Returns one interval as `[1.0, 2.0]`."""
    return f"[{scalar['low']}, {scalar['high']}]"


class IntervalArithmetic(Arithmetic):
    """The arithmetic of intervals, rounded outward."""

    def literal(self, numbers: Array) -> Array:
        """Returns the points that a Python float is; an integer beyond 2**53 is enclosed."""
        near = numbers.astype(np.float64)
        exact = (numbers.dtype.kind == "f") | (np.abs(near) <= 2.0**53)
        return np.where(exact, interval(near, near), outward(near, near))

    def spell(self, scalar: Any) -> str:
        """Returns an interval as `[1.0, 2.0]`."""
        return spelled(scalar)

    def conversion(self, source: Element, target: Element) -> Callable[..., Array] | None:
        """Returns f64 and f32 as points; an interval is no number of another element."""
        return self.literal if source in (f32, f64) else None

    def add(self, left: Array, right: Array) -> Array:
        return outward(left["low"] + right["low"], left["high"] + right["high"])

    def negate(self, array: Array) -> Array:
        return interval(-array["high"], -array["low"])

    def multiply(self, left: Array, right: Array) -> Array:
        sides = "low", "high"
        return widest([left[one] * right[other] for one in sides for other in sides])

    def divide(self, left: Array, right: Array) -> Array:
        if np.any((right["low"] <= 0.0) & (right["high"] >= 0.0)):
            raise ZeroDivisionError("a divisor holds zero")
        sides = "low", "high"
        return widest([left[one] / right[other] for one in sides for other in sides])

    def maximum(self, left: Array, right: Array) -> Array:
        low, high = (np.maximum(left[side], right[side]) for side in ("low", "high"))
        return interval(low, high)

    def minimum(self, left: Array, right: Array) -> Array:
        low, high = (np.minimum(left[side], right[side]) for side in ("low", "high"))
        return interval(low, high)

    def less(self, left: Array, right: Array) -> Array:
        return settled(left["high"] < right["low"], left["low"] >= right["high"], left, right)

    def less_equal(self, left: Array, right: Array) -> Array:
        return settled(left["high"] <= right["low"], left["low"] > right["high"], left, right)

    def equal(self, left: Array, right: Array) -> Array:
        apart = (left["high"] < right["low"]) | (left["low"] > right["high"])
        same = (left["low"] == right["high"]) & (left["high"] == right["low"])
        return settled(same, apart, left, right)

    def exp(self, array: Array) -> Array:
        return within(growing(maps.exp, array), 0.0, np.inf)

    def ln(self, array: Array) -> Array:
        return growing(maps.ln, array)

    def sqrt(self, array: Array) -> Array:
        return within(growing(maps.sqrt, array), 0.0, np.inf)

    def tanh(self, array: Array) -> Array:
        return within(growing(maps.tanh, array), -1.0, 1.0)

    def logistic(self, array: Array) -> Array:
        return within(growing(maps.logistic, array), 0.0, 1.0)


INTERVAL: Final = Element("intervals", STORAGE, arithmetic=IntervalArithmetic())
SAMPLES: Final = ((0.1, -0.7), (1.3, 0.4))


def program(tape: Tape) -> None:
    """Records a perceptron, and a sum that f64 cancels, in the tape's element."""
    x = tape.input(SAMPLES, name="x")
    perceptron = Mlp(tape, (2, 8, 1), weights=init.xavier(3), activation=Activation.TANH)
    perceptron.express(tape, x).named("scores")
    large = tape.leaf([1e16, 1.0, -1e16])
    (large * large.fill(1.0)).sum().named("cancelled")


def record(element: Element) -> Network:
    """Returns the network of `program` over `element`."""
    network, _ = Tape.record(program, element=element)
    return network


def main() -> None:
    """Prints results of f64 beside the intervals that enclose them."""
    names = ["scores", "cancelled"]
    numbers = record(f64).entry(names, numerics="exact").lower().forward()
    bounds = record(INTERVAL).entry(names, numerics="exact").lower().forward()
    print(
        "value       f64                     interval                                       width"
    )
    for name in names:
        enclosures = bounds.of(name).numpy().reshape(-1)
        for number, enclosure in zip(numbers.of(name).numpy().reshape(-1), enclosures, strict=True):
            width = enclosure["high"] - enclosure["low"]
            print(f"{name:<10} {number:+.17f}  {spelled(enclosure):<45}  {width:.1e}")


if __name__ == "__main__":
    main()
