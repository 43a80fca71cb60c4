"""What the backends of this machine do: their status, a product, a training step, and a tally.

One thread tells the backends apart best: OPENBLAS_NUM_THREADS=1 python examples/throughput.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from topos.compiler import (
    Backend,
    Declined,
    Element,
    Formula,
    GemmTask,
    MapTask,
    Numerics,
    Plan,
    Precision,
    TensorType,
)
from topos.model import Parameters, Symbol, Tape, Tensor, broadcast_to, f32, f64
from topos.reference import maps, product

Call = Callable[[], object]

BATCH: Final = 64
WIDTHS: Final = (784, 256, 128, 10)
RATE: Final = 0.01


class Training:
    """A perceptron and its step by gradient descent, recorded whole; `plan` computes one step."""

    def __init__(self, numerics: Numerics) -> None:
        tape = Tape()
        loss, updates = recorded(tape)
        network = tape.into_network()
        self.loss, self.updates = loss, updates
        self.plan: Plan = network.entry([loss, *updates.values()], numerics=numerics).lower()
        self.state: Parameters = network.parameters()
        self.feeds: dict[str | Symbol, Any] = {
            "images": drawn(BATCH, WIDTHS[0]),
            "targets": np.eye(WIDTHS[-1], dtype=np.float32)[np.arange(BATCH) % WIDTHS[-1]],
        }

    def step(self) -> Tensor:
        """Steps the parameters and returns the loss before."""
        run = self.plan.forward(self.state, self.feeds)
        self.state = self.state.with_payloads(
            {own: run.of(new) for own, new in self.updates.items()}
        )
        return run.of(self.loss)


def recorded(tape: Tape) -> tuple[Symbol, dict[Symbol, Symbol]]:
    """Records the loss, its gradients, and the parameters after a step, by their symbols."""
    value = tape.input(shape=(BATCH, WIDTHS[0]), name="images")
    parameters = []
    for inner, outer in pairwise(WIDTHS):
        weights = tape.parameter(drawn(inner, outer, scale=1 / np.sqrt(inner)))
        bias = tape.parameter(np.zeros(outer, np.float32))
        parameters += [weights, bias]
        value = value if inner == WIDTHS[0] else value.maximum(0.0)
        value = value @ weights
        value = value + broadcast_to(bias, value.shape)
    targets = tape.input(shape=(BATCH, WIDTHS[-1]), name="targets")
    loss = -(targets * value.log_softmax(1)).sum() / float(BATCH)
    adjoints = tape.differentiate(loss, parameters)
    gradients = [tape.value(symbol) for symbol in adjoints.roots()]
    pairs = zip(parameters, gradients, strict=True)
    updates = {own.symbol: (own - gradient * RATE).symbol for own, gradient in pairs}
    return loss.symbol, updates


def drawn(*shape: int, scale: float = 1.0, element: Element = f32) -> Any:
    """Returns normal numbers of a fixed seed."""
    numbers = scale * np.random.default_rng(0).standard_normal(shape)
    return numbers.astype(element.dtype)


def fastest(calls: Mapping[str, Call], rounds: int) -> dict[str, float]:
    """Returns the least seconds of each call in `rounds` rounds, in which they take turns."""
    best = dict.fromkeys(calls, float("inf"))
    # The first round warms up and is not counted.
    for counted in [False] + [True] * rounds:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if counted:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def products(size: int, element: Element) -> Iterator[tuple[str, Call]]:
    """Yields everyone who multiplies two squares of `size` here, the oracle last."""
    square = TensorType((size, size), element)
    left, right = drawn(size, size, element=element), drawn(size, size, element=element)
    for backend in Formula.GEMM.chain(Precision(element.name)):
        kernel = backend.offer(Formula.GEMM, GemmTask(square, square))
        if not isinstance(kernel, Declined):
            yield backend.value, lambda kernel=kernel: kernel(left, right)
    yield "reference", lambda: product.matmul(left, right)


def tangents(size: int, element: Element) -> Iterator[tuple[str, Call]]:
    """Yields everyone who computes `size` hyperbolic tangents here, the oracle last."""
    values = drawn(size, element=element)
    task = MapTask(TensorType((size,), element))
    for backend in Formula.TANH.chain(Precision(element.name)):
        kernel = backend.offer(Formula.TANH, task)
        if not isinstance(kernel, Declined):
            yield backend.value, lambda kernel=kernel: kernel(values)
    yield "reference", lambda: maps.tanh(values)


def print_statuses() -> None:
    """Prints what is ready here, and why the rest is not."""
    for backend in Backend.ALL:
        ready, detail = backend.status()
        print(f"  {backend.value:<12}{'ready' if ready else 'not ready':<11}{detail}")


def print_rates(
    title: str, unit: str, work: float, rivals: Mapping[str, Call], rounds: int
) -> None:
    """Prints the work a second of each rival, in thousand millions."""
    best = fastest(rivals, rounds)
    line = "  ".join(f"{name} {work / seconds / 1e9:.3g}" for name, seconds in best.items())
    print(f"  {title:<22}{line}  {unit}")


def print_training(rounds: int) -> None:
    """Prints the rate of a step in each posture, and who served one."""
    trainings = {numerics: Training(numerics) for numerics in (Numerics.FAST, Numerics.EXACT)}
    steps = {numerics.value: training.step for numerics, training in trainings.items()}
    for name, seconds in fastest(steps, rounds).items():
        print(f"  {name:<8}{1 / seconds:8.0f} steps a second")
    for numerics, training in trainings.items():
        with Backend.tallied() as tally:
            training.step()
        print(f"\none {numerics.value} step was served by")
        for formula, precision, backend, times in tally:
            name = "reference" if backend is None else backend.value
            print(
                f"  {formula.value:<10}{precision.value if precision else '':<5}{name:<11}{times}"
            )


def main() -> int:
    """Prints everything and returns the exit status."""
    parser = argparse.ArgumentParser(description="What the backends of this machine do.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512, 1024], metavar="N")
    parser.add_argument("--elements", type=int, default=1 << 20, help="of each map", metavar="N")
    parser.add_argument("--rounds", type=int, default=15, help="of each measurement", metavar="N")
    chosen = parser.parse_args()

    print("backends")
    print_statuses()
    print("\nproducts of squares")
    for element in (f32, f64):
        for size in chosen.sizes:
            rivals = dict(products(size, element))
            title, flops = f"{element} {size}", 2.0 * size**3
            print_rates(title, "GFLOP/s", flops, rivals, chosen.rounds)
    print("\nhyperbolic tangents")
    for element in (f32, f64):
        rivals = dict(tangents(chosen.elements, element))
        title = f"{element} {chosen.elements}"
        print_rates(title, "Gelem/s", chosen.elements, rivals, chosen.rounds)
    print(f"\ntraining step of a perceptron {'-'.join(map(str, WIDTHS))}, batch {BATCH}")
    print_training(chosen.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
