"""Dual numbers as an element: a recorded network over them computes its own derivative.

A dual number is a value and a tangent, stored as a structure of two float64. Each function is the
f64 function of the value beside the chain rule, so that the value of a run has the bits of the f64
oracle. The network is recorded by the same Python function as in f64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos import Activation, Arithmetic, Element, Mlp, Network, Tape, Tensor, f32, f64, init, mean
from topos.reference import maps

__all__ = ["DUAL", "dual", "loss", "record"]

Array = npt.NDArray[Any]
STORAGE: Final = np.dtype([("value", np.float64), ("tangent", np.float64)])


def dual(value: npt.ArrayLike, tangent: npt.ArrayLike) -> Array:
    """Returns the array of the dual numbers `value + tangent * e`."""
    array = np.empty(np.broadcast_shapes(np.shape(value), np.shape(tangent)), STORAGE)
    array["value"], array["tangent"] = value, tangent
    return array


def chosen(mask: Array, left: Array, right: Array) -> Array:
    """Returns `left` where the mask holds, else `right`."""
    return np.where(mask, left, right)


class DualArithmetic(Arithmetic):
    """The arithmetic of dual numbers: `e * e = 0`; comparisons are those of the values."""

    def literal(self, numbers: Array) -> Array:
        """Returns constants, which have no tangent."""
        return dual(numbers, 0.0)

    def spell(self, scalar: Any) -> str:
        """Returns a dual number as `1.5+0.25e`."""
        return f"{scalar['value']}{scalar['tangent']:+}e"

    def conversion(self, source: Element, target: Element) -> Callable[..., Array] | None:
        """Returns f64 and f32 as constants, and the values of dual numbers as f64."""
        if source in (f32, f64):
            return self.literal
        return (lambda array: array["value"]) if target is f64 else None

    def add(self, left: Array, right: Array) -> Array:
        return dual(left["value"] + right["value"], left["tangent"] + right["tangent"])

    def subtract(self, left: Array, right: Array) -> Array:
        return dual(left["value"] - right["value"], left["tangent"] - right["tangent"])

    def multiply(self, left: Array, right: Array) -> Array:
        slope = left["tangent"] * right["value"] + left["value"] * right["tangent"]
        return dual(left["value"] * right["value"], slope)

    def divide(self, left: Array, right: Array) -> Array:
        value = left["value"] / right["value"]
        return dual(value, (left["tangent"] - value * right["tangent"]) / right["value"])

    def negate(self, array: Array) -> Array:
        return dual(-array["value"], -array["tangent"])

    def maximum(self, left: Array, right: Array) -> Array:
        return chosen(left["value"] >= right["value"], left, right)

    def minimum(self, left: Array, right: Array) -> Array:
        return chosen(left["value"] <= right["value"], left, right)

    def equal(self, left: Array, right: Array) -> Array:
        return np.asarray(left["value"] == right["value"])

    def less(self, left: Array, right: Array) -> Array:
        return np.asarray(left["value"] < right["value"])

    def less_equal(self, left: Array, right: Array) -> Array:
        return np.asarray(left["value"] <= right["value"])

    def exp(self, array: Array) -> Array:
        value = maps.exp(array["value"])
        return dual(value, array["tangent"] * value)

    def ln(self, array: Array) -> Array:
        return dual(maps.ln(array["value"]), array["tangent"] / array["value"])

    def sqrt(self, array: Array) -> Array:
        value = maps.sqrt(array["value"])
        return dual(value, array["tangent"] / (value + value))

    def tanh(self, array: Array) -> Array:
        value = maps.tanh(array["value"])
        return dual(value, array["tangent"] * (1.0 - value * value))

    def logistic(self, array: Array) -> Array:
        value = maps.logistic(array["value"])
        return dual(value, array["tangent"] * (value * (1.0 - value)))

    def sin(self, array: Array) -> Array:
        return dual(maps.sin(array["value"]), array["tangent"] * maps.cos(array["value"]))

    def cos(self, array: Array) -> Array:
        return dual(maps.cos(array["value"]), -(array["tangent"] * maps.sin(array["value"])))


DUAL: Final = Element("dual", STORAGE, arithmetic=DualArithmetic())
WIDTHS: Final = (3, 5, 4)
START: Final = ((0.5, -1.0, 2.0), (1.5, 0.25, -0.75))


def loss(tape: Tape) -> None:
    """Records the mean surprise of a small perceptron: in the tape's element, whichever that is."""
    x = tape.input(shape=(2, 3), name="x")
    scores = Mlp(tape, WIDTHS, weights=init.xavier(1), activation=Activation.TANH).express(tape, x)
    chances = scores.log_softmax(1)
    mean(-chances.narrow(1, 0, 1)).named("loss")


def record(element: Element) -> Network:
    """Returns the network of `loss`, with its recorded gradient, over `element`."""
    tape = Tape(element=element)
    loss(tape)
    tape.differentiate("loss", ["x"])
    return tape.into_network()


def main() -> None:
    """Prints the derivative by each input: from one run over dual numbers, and as recorded."""
    plain, own = record(f64), record(DUAL)
    run = plain.entry(["loss", "dloss/dx"], numerics="exact").lower().forward(None, {"x": START})
    gradient = run.of("dloss/dx").numpy()
    plan = own.entry(["loss"], numerics="exact").lower()
    print(f"loss {run.of('loss').item():.17f} in f64, plan over dual: {plan!r}")
    print("input   tangent of the run      recorded gradient       apart")
    for place in np.ndindex(gradient.shape):
        direction = np.zeros(gradient.shape)
        direction[place] = 1.0
        result: Tensor = plan.forward(None, {"x": dual(START, direction)}).of("loss")
        slope = float(result.numpy()["tangent"])
        apart = abs(slope - gradient[place])
        print(f"x{list(place)} {slope:+.17f}  {gradient[place]:+.17f}  {apart:.1e}")


if __name__ == "__main__":
    main()
