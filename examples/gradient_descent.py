"""Fits Hubble's law by gradient descent, then runs the model's StableHLO on every runtime."""

from __future__ import annotations

import argparse
from typing import Any

from everywhere import others, rows, trial

import topos
from topos import Symbol, Tape

# Hubble (1929), table 1: distances of 24 nebulae in megaparsecs, velocities in 1000 km/s.
DISTANCES = [
    *(0.032, 0.034, 0.214, 0.263, 0.275, 0.275, 0.45, 0.5, 0.5, 0.63, 0.8, 0.9),
    *(0.9, 0.9, 0.9, 1.0, 1.1, 1.1, 1.4, 1.7, 2.0, 2.0, 2.0, 2.0),
]
VELOCITIES = [
    *(0.17, 0.29, -0.13, -0.07, -0.185, -0.22, 0.2, 0.29, 0.27, 0.2, 0.3, -0.03),
    *(0.65, 0.15, 0.5, 0.92, 0.45, 0.5, 0.5, 0.96, 0.5, 0.85, 0.8, 1.09),
]
FEEDS: dict[Symbol | str, list[float]] = {"distance": DISTANCES, "velocity": VELOCITIES}


def line(tape: Tape) -> dict[str, Any]:
    """Records a line through the origin and its mean squared error; computes nothing."""
    constant = tape.parameter(0.0, name="constant")
    distance = tape.input(shape=[24], name="distance")
    velocity = tape.input(shape=[24], name="velocity")
    error = constant.broadcast([24]) * distance - velocity
    return {"constant": constant, "loss": topos.mean(error * error).named("loss")}


def main() -> int:
    """Prints the descent, the emitted module, and each runtime's result beside the oracle's."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    network, names = Tape.record(line, element=topos.f64)
    print(network.describe())

    parameters = network.parameters()
    for step in range(20):
        run = network.forward(parameters, FEEDS)
        if step % 5 == 0:
            print(f"step {step}: loss {run.of(names['loss']).item():.6f}")
        gradients = run.backward(names["loss"])
        parameters = parameters.step(gradients, lambda own, gradient: own - 0.2 * gradient)
    slope = 1000 * parameters.of(names["constant"]).item()
    print(f"velocity is {slope:.1f} km/s for each megaparsec")

    plan = network.entry([names["loss"]]).lower()
    print(plan.emit_stablehlo())
    print("the text on each runtime, its distance from the oracle, and ms a call")
    for name, state, distance, duration in rows([trial(plan, parameters, FEEDS)]):
        print(f"{name:12} {distance:>10} {duration:>8}  {state}")
    print(others())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
