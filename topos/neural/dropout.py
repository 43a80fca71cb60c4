"""Dropout: a product with a mask that the caller feeds."""

from __future__ import annotations

from collections.abc import Sequence

from topos import Element, Symbol, Tape, Tensor, Value
from topos.errors import ShapeError
from topos.neural import init
from topos.neural.formula import demand_reading
from topos.neural.module import Visitor

__all__ = ["Dropout"]


class Dropout:
    """A product with an input of `shape` that is all ones unless fed (Srivastava et al., 2014).

    Randomness never enters a recording: a training step feeds `{dropout.mask: dropout.draw(seed)}`
    with a seed of its own, and a run that feeds nothing is inference.
    """

    __slots__ = ("element", "mask", "rate", "shape")

    def __init__(
        self, tape: Tape, shape: Sequence[int], rate: float = 0.5, *, name: str | None = None
    ) -> None:
        # Drawing once asks for the rate and the shape at the line that gives them.
        drawn = init.dropout(0, rate)(shape, tape.element)
        self.rate = float(rate)
        self.shape: tuple[int, ...] = drawn.shape
        self.element: Element = tape.element
        self.mask: Symbol = tape.input(init.ones(shape, tape.element), name=name).symbol

    def draw(self, seed: int) -> Tensor:
        """Returns a mask to feed: zero with the probability of the rate, else `1 / (1 - rate)`."""
        return init.dropout(seed, self.rate)(self.shape, self.element)

    def express(self, tape: Tape, value: Value) -> Value:
        """Records `value` times the mask; `value` has the shape of the mask."""
        demand_reading("Dropout", value)
        if value.shape != self.shape:
            raise ShapeError(f"Dropout needs its own shape {self.shape}, got {value.shape}")
        return value * tape.value(self.mask)

    def visit(self, visitor: Visitor) -> None:
        """Shows nothing: a mask is an input."""
