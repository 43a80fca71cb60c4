"""An eight-bit float with maps: a perceptron trained in f32, evaluated and emitted in f8E4M3FN.

`FloatArithmetic` has the sums, products and comparisons of every floating format. The maps are the
element's own: of 256 numbers each map is a table, whose entries are the correctly rounded f64
results rounded to eight bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from topos import (
    Adam,
    Element,
    FloatArithmetic,
    Mlp,
    Network,
    Parameters,
    Tape,
    bce_with_logits,
    f32,
    init,
)
from topos.reference import conversion, maps

__all__ = ["F8", "carried", "record", "table", "train"]

Array = npt.NDArray[Any]
STORAGE: Final = np.dtype(ml_dtypes.float8_e4m3fn)


@cache
def table(function: str) -> Array:
    """Returns a map of all 256 numbers, ordered by bit pattern; beyond 448 it is NaN."""
    every = np.arange(256, dtype=np.uint8).view(STORAGE)
    results = getattr(maps, function)(every.astype(np.float64))
    return conversion.convert(results, STORAGE)


class Float8Arithmetic(FloatArithmetic):
    """The arithmetic of a floating format, with the maps of a perceptron and its loss."""

    def exp(self, array: Array) -> Array:
        return looked_up("exp", array)

    def tanh(self, array: Array) -> Array:
        return looked_up("tanh", array)

    def logistic(self, array: Array) -> Array:
        return looked_up("logistic", array)

    def ln(self, array: Array) -> Array:
        return looked_up("ln", array)

    def log1p(self, array: Array) -> Array:
        return looked_up("log1p", array)


def looked_up(function: str, array: Array) -> Array:
    """Returns the table's entry for each element."""
    return table(function).take(np.ascontiguousarray(array).view(np.uint8))


F8: Final = Element(
    "f8E4M3FN", STORAGE, mlir="f8E4M3FN", compute=np.float32, arithmetic=Float8Arithmetic()
)
SAMPLES: Final = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))
ANSWERS: Final = ((0.0,), (1.0,), (1.0,), (0.0,))


def record(element: Element) -> Network:
    """Returns a perceptron for exclusive or and its loss, recorded over `element`."""
    tape = Tape(element=element)
    perceptron = Mlp(tape, (2, 8, 1), weights=init.xavier(5))
    logits = perceptron.express(tape, tape.input(SAMPLES, name="samples"))
    logits.logistic().named("probabilities")
    bce_with_logits(logits, tape.leaf(ANSWERS)).named("loss")
    return tape.into_network()


def train(network: Network, steps: int) -> Parameters:
    """Returns the parameters after `steps` steps of Adam."""
    state, optimizer = network.parameters(), Adam(0.05)
    slots = optimizer.start(state)
    plan = network.entry(["loss"], backward=True).lower()
    for _ in range(steps):
        state, slots = optimizer.step(state, plan.forward(state).backward("loss"), slots)
    return state


def carried(state: Parameters, network: Network, element: Element) -> Parameters:
    """Returns the parameters for `network`, the same program over `element`, each rounded."""
    symbols = network.parameters().symbols()
    tensors = [tensor.convert(element) for _, tensor in state.items()]
    return network.parameters(dict(zip(symbols, tensors, strict=True)))


def main() -> None:
    """Prints the answers of f32, those of eight bits, and how the module spells a type."""
    wide, narrow = record(f32), record(F8)
    trained = train(wide, 200)
    names = ["probabilities", "loss"]
    first = wide.entry(names, numerics="exact").lower().forward(trained)
    plan = narrow.entry(names, numerics="exact").lower()
    second = plan.forward(carried(trained, narrow, F8))
    print("samples   answer  f32       f8E4M3FN")
    pairs = zip(first.of(names[0]).numpy(), second.of(names[0]).numpy(), strict=True)
    for sample, answer, (one, two) in zip(SAMPLES, ANSWERS, pairs, strict=True):
        print(f"{sample}  {answer[0]:.0f}    {float(one[0]):.6f}  {float(two[0]):.6f}")
    print(f"loss              {first.of('loss').item():.6f}  {float(second.of('loss')):.6f}")
    maps = [line.strip() for line in plan.emit_stablehlo().splitlines() if "tanh" in line]
    print(maps[0])


if __name__ == "__main__":
    main()
