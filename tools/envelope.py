"""Measures every runtime against the oracle and prints the envelope table as Markdown.

The table is the one of docs/guides/runtimes.md. A measured distance beyond its bound fails.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

import numpy as np

from topos import Tape, Tensor, Value, runtimes
from topos.compiler import DIFFERENTIABLE, Element, MapOperation
from topos.errors import UnsupportedError
from topos.runtimes.grade import Envelope, envelope, grade

POSITIVE: Final = ("ln", "log1p", "sqrt", "rsqrt")
REDUCTIONS: Final = ("sum", "sum_along", "matmul", "log_softmax", "log_sum_exp")
OPERATIONS: Final = (*(function.value for function in MapOperation), "power", *REDUCTIONS)


def main() -> int:
    """Parses the command line, prints the table, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="arguments of a map")
    parser.add_argument("--seed", type=int, default=0, help="of the arguments")
    chosen = parser.parse_args()
    names = [name for name in runtimes.names() if runtimes.load(name).status().ready]
    if names == ["interpreter"]:
        print(
            "only the interpreter is ready, which has the oracle's bits; install others to compare"
        )
        return 0
    print(f"| operation | element | {' | '.join(names)} |")
    print(f"|---|---|{'---|' * len(names)}")
    beyond = []
    for operation in OPERATIONS:
        for element in DIFFERENTIABLE:
            cells = []
            for name in names:
                bound = envelope(name, operation, element.name)
                measured = distance(name, operation, element, chosen.count, chosen.seed)
                cells.append(cell(bound, measured))
                if bound.ulps is not None and (measured is None or measured > bound.ulps):
                    beyond.append(f"{name} {operation} {element}: {measured} beyond {bound.ulps}")
            if any(text != "bits" for text in cells):
                print(f"| {operation} | {element} | {' | '.join(cells)} |", flush=True)
    print(*beyond, sep="\n", file=sys.stderr)
    return 1 if beyond else 0


def cell(bound: Envelope, measured: int | None) -> str:
    """Returns a cell of the table: what was measured, then what is allowed."""
    if bound.ulps is None:
        return "does not run"
    if bound.ulps == 0 and measured == 0:
        return "bits"
    return f"{measured} of {bound.ulps}"


def distance(runtime: str, operation: str, element: Element, count: int, seed: int) -> int | None:
    """Returns the largest distance from the oracle in units in the last place.

    `None` says that the runtime refused the module.
    """
    tape = Tape(element=element)
    result = recorded(tape, operation, element, count, np.random.default_rng(seed))
    plan = tape.into_network().entry([result.symbol]).lower()
    try:
        return grade(plan, runtime).distance
    except UnsupportedError:
        return None


def recorded(
    tape: Tape, operation: str, element: Element, count: int, random: np.random.Generator
) -> Value:
    """Records one operation on random arguments, as the head of the envelope table names them."""

    def drawn(*shape: int, signed: bool = False, high: float = 4.0) -> Value:
        numbers = random.uniform(1 / 16, high, shape)
        if signed:
            numbers *= random.choice([-1.0, 1.0], shape)
        return tape.input(Tensor(numbers).convert(element))

    match operation:
        case "power":
            return drawn(count) ** drawn(count, signed=True)
        case "sum":
            return drawn(40).sum()
        case "sum_along":
            return drawn(64, 40).sum(1)
        case "matmul":
            return drawn(16, 24) @ drawn(24, 16)
        case "log_softmax" | "log_sum_exp":
            result: Value = getattr(drawn(64, 40, signed=True), operation)(1)
            return result
    # Near the other zeros of sine and cosine an absolute error is any number of units.
    high = 1.5 if operation in ("sin", "cos") else 4.0
    argument = drawn(count, signed=operation not in POSITIVE, high=high)
    mapped: Value = getattr(argument, operation)()
    return mapped


if __name__ == "__main__":
    sys.exit(main())
