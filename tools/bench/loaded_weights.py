"""A decoder of 25.6M parameters, one token a call, its weights as a checkpoint's `adapt` left them.

PyTorch keeps a linear layer as [outputs, inputs], so `adapt` transposes each matrix. The rival has
the same numbers as they were recorded, row by row. The two run in turn: in the plan of numpy, and
on XLA with the parameters brought by every call. The command fails where a result differs, or
where the first takes more than 1.1 times as long.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

# One thread for every rival; read by numpy's BLAS when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from plan_models import attended, drawn, normalized
from safetensors.numpy import save_file
from timing import interleaved, report

from topos import Network, Parameters, Symbol, Tape, Value, checkpoint, gelu_tanh, runtimes

WIDTH: Final = 512
BLOCKS: Final = 8
HEADS: Final = 8
WORDS: Final = 830
BOUND: Final = 1.1
ROUNDS: Final = 40


def recorded() -> tuple[Network, Symbol]:
    """Records the blocks over one token, and its logits."""
    tape, shapes = Tape(), [(WIDTH, WIDTH)] * 4 + [(WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]

    def matrix(name: str, shape: tuple[int, int]) -> Value:
        seed = len(tape.columns.forms)
        return tape.parameter(drawn(*shape, seed=seed, scale=shape[0] ** -0.5), name=name)

    value = tape.input(shape=(1, WIDTH), name="token")
    for block in range(BLOCKS):
        *mixes, up, down = (matrix(f"{block}.{at}", shape) for at, shape in enumerate(shapes))
        value = value + attended(normalized(value), mixes, HEADS)
        value = value + gelu_tanh(normalized(value) @ up) @ down
    logits = normalized(value) @ matrix("head", (WIDTH, WORDS))
    return tape.into_network(), logits.symbol


def adapted(network: Network) -> Parameters:
    """Returns the network's own parameters as they come from a file that holds them transposed."""
    initial = network.parameters()
    names = {network.columns.labels[at.position]: at for at in initial.symbols()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "foreign.safetensors"
        turned = {name: initial.of(at).numpy().T for name, at in names.items()}
        save_file({name: np.ascontiguousarray(each) for name, each in turned.items()}, path)
        read = checkpoint.load(path, initial, names, adapt=lambda _, tensor: tensor.transpose())
    return read.parameters


def main() -> int:
    """Prints both ratios; returns 1 where one is above its bound."""
    network, logits = recorded()
    states = {"row by row": network.parameters(), "from adapt": adapted(network)}
    count = sum(own.numpy().size for _, own in states["row by row"].items())
    plan = network.entry([logits]).lower()
    ways = {"Fast plan": plan.forward}
    if runtimes.load("xla").status().ready:
        ways["XLA, unbound"] = plan.compile("xla").forward
    feeds, faults = {"token": drawn(1, WIDTH, seed=1)}, 0
    for title, forward in ways.items():
        answers = [forward(state, feeds).of(logits).numpy() for state in states.values()]
        assert answers[0].tobytes() == answers[1].tobytes(), title
        rivals = {
            name: lambda state=state, forward=forward: forward(state, feeds)
            for name, state in states.items()
        }
        best = interleaved(rivals, ROUNDS)
        ratio = best["from adapt"] / best["row by row"]
        faults += ratio > BOUND
        figures = {name: f"{seconds * 1e3:.1f} ms" for name, seconds in best.items()}
        target = f"must be at most {BOUND}"
        report(f"{title}: a token of {count / 1e6:.1f}M parameters", figures, ratio, target)
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
